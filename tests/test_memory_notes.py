"""The store's note on how much memory a run's workers held, which a plan shows."""

from reproaudit.store.memory import most_memory, note_memory


def test_the_most_is_kept_by_paper_and_tier(tmp_path):
    assert most_memory(tmp_path, "mini", "quick") is None
    for held in (10, 30, 20):
        note_memory(tmp_path, "mini", "quick", held)
    note_memory(tmp_path, "mini", "paper", 5)
    assert most_memory(tmp_path, "mini", "quick") == 30
    assert most_memory(tmp_path, "mini", "paper") == 5
    assert most_memory(tmp_path, "other", "quick") is None


def test_a_damaged_note_is_replaced(tmp_path):
    (tmp_path / "memory.mini").write_text("{", encoding="utf-8")
    assert most_memory(tmp_path, "mini", "quick") is None
    note_memory(tmp_path, "mini", "quick", 7)
    assert most_memory(tmp_path, "mini", "quick") == 7
