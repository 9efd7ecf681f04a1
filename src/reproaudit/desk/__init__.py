"""The reviewer's desk: a page on this machine to decide, dispute, write a note and sign off."""
