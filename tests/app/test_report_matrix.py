"""Figures that two labels tell apart stand in one table of the report, and nothing of them is lost."""

from dataclasses import replace

from app.records import Band, RunRecord
from app.report_image.panels import ReportStep
from app.report_image.report import draw_report
from app.report_image.tables import matrices
from suites.vocab import Figure, labels
from tests.app import run_events
from tests.app.run_events import STEP
from tests.app.test_report_image import check_layout
from tests.app.test_sweep_panels import IOPS, run_of

BLOCKS = ("64 KiB", "4 KiB", "512 B")


def figures(*reads: str, factor: float = 1.0) -> list[Figure]:
    return [
        Figure(IOPS, factor * (1000.0 * place + float(read)), labels(block=block, reads=read))
        for read in reads
        for place, block in enumerate(BLOCKS, 1)
    ]


def shown(*runs: RunRecord, bands: tuple[Band, ...] = ()) -> ReportStep:
    return ReportStep(runs, [STEP] * len(runs), {}, bands)


def words_of(run: RunRecord) -> list[str]:
    sheet = draw_report([run], {}, {}, [])
    check_layout(sheet)
    return [words.text for words in sheet._texts]


def test_a_matrix_has_a_field_for_each_pair_in_the_order_of_size() -> None:
    run = run_of("a", figures("100", "65", "5", "0", factor=10.0))
    (matrix,) = matrices(shown(run))
    assert (matrix.down, matrix.across) == ("block", "reads")
    assert (matrix.rows, matrix.columns) == (BLOCKS, ("0", "5", "65", "100"))
    shown_text = words_of(run)
    assert "I/Os per second (k IOPS), ↑ higher is better, by block and reads" in shown_text
    assert {"11.0", "20.6", "30.0"} <= set(shown_text)
    assert not [text for text in shown_text if "block 64 KiB, reads 65" in text]


def test_few_figures_three_labels_gaps_and_comparisons_stay_a_list() -> None:
    whole = figures("100", "65", "5", "0")
    three = [Figure(one.metric, one.value, labels(**dict(one.labels), jobs="1")) for one in whole]
    for found in (figures("100", "65"), three, whole[:-1] + whole[:1]):
        assert matrices(shown(run_of("a", found))) == []
    assert matrices(shown(run_of("a", whole), run_of("b", whole))) == []


def test_figures_of_several_trials_keep_their_spread_in_the_list() -> None:
    run = run_events.run_record("a", [1.0, 2.0])
    trials = tuple(
        replace(one, figures=tuple(figures("100", "65", "5", "0", factor=1.0 + place)))
        for place, one in enumerate(run.trials)
    )
    several = replace(run, trials=trials)
    assert len(matrices(shown(several))) == 1
    assert [text for text in words_of(several) if "block 64 KiB, reads 65" in text]
