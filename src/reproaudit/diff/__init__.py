"""The differences between two scorecards, two audits, or one of each, told from noise.

Changes are sorted by kind: the *rule* (checks, tolerances, seeds of the rule), the *settings*
(values, sources, alternatives, the tier), the *code* (its hash and revision), the *environment*
(versions, device, threads), the *records* (the measured cells, custom ones, their origin) and the
*documentation* (variables, findings, responses, wording). A change *matters* if it can move a
number, a decision or the evidence; a reworded reason cannot.

`compare` is the entrance; `changes` collects the changes, `results` compares each claim part by
part, on the scale on which the part is judged: paired by seed where rule and seeds agree, by
Welch's interval otherwise, with the error divided by the number of parts. A changed result is laid
to a kind of change only when that kind alone differs.
"""
