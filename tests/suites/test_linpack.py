"""LINPACK: its commands and input files, what it warns of, and what is read from HPL and from Intel's program."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.facts import Absent, Facts
from suites.linpack.output import LinpackParser
from suites.linpack.suite import Linpack, grid, matrix_bytes, sizes_of
from suites.outputs import ParsedTrial
from tests.messages import messages
from tests.suites.captured_outputs import Capture, capture, figures
from tests.suites.host_facts import GIB, MIB, applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_linpack")

SUITE = Linpack()
DEFAULTS = complete_values(SUITE, {})
OPENBLAS = "linpack/hpcc-1.5.0/openblas"
PIECES = [
    b"WR11C2R4         500    80     1     2               0.03              3.149e+00\n",
    b"WR11C2R4         500    80     1     2               0.03              3.149e+999\n",
    b"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0064946 ...... PASSED\n",
    b"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=              nan ...... FAILED\n",
    b"1000   1000   4      0.031      21.5703  8.724688e-13 2.975343e-02   pass\n",
    b"500 1000         Ns\n",
    b"0 Ps\n0 Qs\n",
    b">>> \x1b[2J <<<\n",
    b"End of Tests.\n",
    b"\xff\xfe",
]


def cluster_node(**given: Any) -> Facts:
    facts = host(hpcc="hpcc 1.5.0", mpirun="4.1.4", **given)
    return replace(facts, cpu=replace(facts.cpu, cores=4))


def parsed(name: str) -> ParsedTrial:
    return capture(f"linpack/{name}").parse(LinpackParser())


def lines(**given: Any) -> list[str]:
    return [" ".join(command.argv) for command in SUITE.commands(complete_values(SUITE, given), Context())]


MPI = (
    "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 mpirun -np"
)


def test_hpcc_is_run_beside_its_input_and_without_an_old_report() -> None:
    assert lines(threads=2) == [
        "cat hpccinf.txt",
        'sh -c ldd "$(command -v hpcc)" || :',
        "rm -f hpccoutf.txt",
        f"{MPI} 2 hpcc",
        "cat hpccoutf.txt",
    ]


def test_the_input_file_is_that_of_the_package_with_our_numbers() -> None:
    values = complete_values(SUITE, {"sizes": "500, 1000", "threads": 6, "block": 192})
    (file,) = SUITE.commands(values, Context())[0].files
    assert file.name == "hpccinf.txt"
    written = file.text.splitlines()
    assert [line.split("  ")[0].strip() for line in written[4:12]] == ["2", "500 1000", "1", "192", "0", "1", "2", "3"]
    assert written[31].startswith("##### This line (no. 32) is ignored")


def test_an_xhpl_of_the_users_reads_its_own_file() -> None:
    assert lines(program="xhpl", path="/opt/hpl/xhpl", threads=4) == ["cat HPL.dat", f"{MPI} 4 /opt/hpl/xhpl"]
    (file,) = SUITE.commands(complete_values(SUITE, {"program": "xhpl", "path": "/x"}), Context())[0].files
    assert (file.name, len(file.text.splitlines())) == ("HPL.dat", 31)


def test_intels_program_gets_its_own_data() -> None:
    given = {"program": "intel", "path": "/opt/intel/xlinpack_xeon64", "threads": 8, "sizes": "1000,5001"}
    assert lines(**given) == ["cat lininput", MESSAGES["env_omp_num_threads_8_mkl"]]
    (file,) = SUITE.commands(complete_values(SUITE, given), Context())[0].files
    assert "1000 5001 # problem sizes\n1000 5008 # leading dimensions\n" in file.text


@pytest.mark.parametrize(
    ("processes", "shape"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7)), (96, (8, 12))]
)
def test_the_grid_is_as_square_as_can_be(processes: int, shape: tuple[int, int]) -> None:
    assert grid(processes) == shape


@pytest.mark.parametrize("text", ["0", "5", "1000;x", "12345678", "-1000", "1000 2000", ",".join(["1000"] * 21)])
def test_sizes_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, {"sizes": text})


def test_sizes_are_sorted_and_each_once() -> None:
    assert sizes_of({"sizes": "5000, 1000,5000"}) == (1000, 5000)


def test_the_tuned_sizes_stay_within_memory() -> None:
    for available in (GIB, 16 * GIB, 700 * GIB):
        sizes = sizes_of(tuned_values(SUITE, Context(cluster_node(available=available))))
        assert matrix_bytes(max(sizes)) <= 0.8 * available
        assert list(sizes) == sorted(sizes)
    assert max(sizes) < math.isqrt(700 * GIB // 8) / 2, "patience ends before so much memory"


def test_the_largest_size_is_bounded_by_time_and_says_what_it_covers() -> None:
    facts = cluster_node(available=700 * GIB)
    fast = replace(facts, cpu=replace(facts.cpu, flags=("avx2", "fma"), frequency_maximum=3000.0))
    slow = replace(facts, cpu=replace(facts.cpu, frequency_maximum=Absent("no cpufreq"), model=Absent("none")))
    for each, gflops in ((fast, 0.7 * 4 * 48), (slow, 4 * 5.0)):
        tuned = SUITE.tune(Context(each))["sizes"]
        largest = max(sizes_of({"sizes": tuned.value}))
        assert 2 / 3 * largest**3 / gflops / 1e9 == pytest.approx(300, rel=0.02)
        assert f"{matrix_bytes(largest) / (700 * GIB):.0%} of the available memory; 80 % would" in tuned.why
    small = SUITE.tune(Context(cluster_node(available=GIB)))["sizes"]
    assert MESSAGES["all_that_fits"] in small.why


def test_there_is_a_process_for_each_core() -> None:
    tuned = tuned_values(SUITE, Context(cluster_node(cpus=8)))
    assert (tuned["threads"], tuned["block"]) == (4, 192)
    assert tuned_values(SUITE, Context(cluster_node(cpus=2)))["threads"] == 2
    assert "threads" not in SUITE.tune(Context())


def test_the_tool_is_needed_unless_the_user_names_one() -> None:
    assert SUITE.programs(DEFAULTS, None) == (SUITE.program,)
    assert SUITE.programs(complete_values(SUITE, {"program": "xhpl", "path": "/x"}), None) == ()


@pytest.mark.parametrize("facts", [cluster_node(), cluster_node(cpus=1), cluster_node(cpus=192, available=700 * GIB)])
def test_tuned_values_on_a_quiet_host_raise_no_warning(facts: Facts) -> None:
    context = Context(facts)
    step = evidence(SUITE, context, **tuned_values(SUITE, context))
    assert raised(step) == {}
    assert silent(step) == set()


def test_small_matrices_are_warned_about() -> None:
    step = evidence(SUITE, Context(cluster_node(cache=32 * MIB)), sizes="1000", threads=4)
    assert raised(step)["linpack-small"].measured == (MESSAGES["the_largest_matrix_of_order"])
    assert "linpack-small" not in raised(applied(step, "linpack-small"))


def test_a_matrix_that_does_not_fit_is_an_error() -> None:
    step = evidence(SUITE, Context(cluster_node(available=GIB)), sizes="20000", threads=4)
    assert MESSAGES["takes_2_98_gib_1_gib_are"] in raised(step)["memory-too-small"].measured
    assert "memory-too-small" not in raised(applied(step, "memory-too-small"))


def test_what_the_run_needs_is_looked_for() -> None:
    assert "linpack-no-mpi" in raised(evidence(SUITE, Context(host(hpcc="1.5.0"))))
    assert "linpack-no-mpi" not in raised(evidence(SUITE, Context(host()), program="intel", path="/x"))
    assert "linpack-no-path" in raised(evidence(SUITE, Context(host()), program="intel"))


def test_figures_are_those_of_the_results() -> None:
    found = parsed("hpcc-1.5.0/openblas")
    assert (found.complete, found.notes) == (True, ())
    assert figures(found) == {
        "linpack": pytest.approx(7.814e9),
        "linpack_by_size 500": pytest.approx(3.149e9),
        "linpack_by_size 1000": pytest.approx(7.814e9),
        "solve_time 500": 0.03,
        "solve_time 1000": 0.09,
    }
    assert found.tool_version == "hpcc 1.5.0, HPLinpack 2.0, OpenBLAS"
    assert found.figures[0].metric == SUITE.metrics[0]


def test_the_reference_library_is_named() -> None:
    found = parsed("hpcc-1.5.0/reference")
    assert found.complete
    assert found.tool_version == MESSAGES["hpcc_1_5_0_hplinpack_2_0_the"]
    assert "not the CPU's" in found.notes[0]


def test_a_run_of_built_in_defaults_is_not_taken_for_the_one_that_was_asked() -> None:
    found = parsed("hpcc-1.5.0/too_few")
    assert found.figures == ()
    assert found.notes == (
        MESSAGES["linpack_failed_need_at_least"],
        MESSAGES["size_3520_on_1_x_2_processes"],
        MESSAGES["without_a_result_size_500"],
    )


def test_a_refusal_of_root_is_named() -> None:
    found = parsed("hpcc-1.5.0/no_root")
    assert not found.complete
    assert MESSAGES["mpirun_has_detected_an"] in found.notes[0]


def changed(name: str, old: bytes, new: bytes) -> ParsedTrial:
    case = capture(f"linpack/{name}")
    return Capture(name, case.stdout.replace(old, new), case.stderr, 0).parse(LinpackParser())


def test_a_failed_residual_means_no_figure() -> None:
    found = changed("hpcc-1.5.0/openblas", b"0.0039687 ...... PASSED", b"4211.1 ...... FAILED")
    assert not found.complete
    assert set(figures(found)) == {"linpack", "linpack_by_size 500", "solve_time 500"}
    assert MESSAGES["the_residual_check_of_size"] in found.notes


def test_a_residual_that_was_not_checked_means_no_figure() -> None:
    found = changed("documented/xhpl_2.3", b"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.01", b"x")
    assert MESSAGES["the_residual_of_size_8000"] in found.notes
    assert "linpack_by_size 8000" not in figures(found)


def test_a_size_that_nobody_asked_for_has_no_figure() -> None:
    found = changed("hpcc-1.5.0/openblas", b"500 1000         Ns", b"500 2000         Ns")
    assert "linpack_by_size 1000" not in figures(found)
    assert MESSAGES["without_a_result_size_2000"] in found.notes


def test_hpl_by_itself_is_read() -> None:
    found = parsed("documented/xhpl_2.3")
    assert (found.complete, found.notes, found.tool_version) == (True, (), "HPLinpack 2.3")
    assert figures(found)["linpack_by_size 8000"] == pytest.approx(92.041e9)
    assert figures(found)["linpack"] == pytest.approx(92.041e9)


def test_intels_program_is_read_and_the_best_trial_counts() -> None:
    found = parsed("documented/intel")
    assert (found.complete, found.notes) == (True, ())
    assert figures(found) == {
        "linpack": pytest.approx(36.5075e9),
        "linpack_by_size 1000": pytest.approx(25.7189e9),
        "linpack_by_size 2000": pytest.approx(33.5964e9),
        "linpack_by_size 5000": pytest.approx(36.5075e9),
        "solve_time 1000": 0.026,
        "solve_time 2000": 0.159,
        "solve_time 5000": 2.284,
    }


def test_a_failed_check_of_intels_program_means_no_figure() -> None:
    one = changed("documented/intel", b"2.302891e-11 3.211186e-02   pass", b"2.302891e-01 3.2e+08   fail")
    assert not one.complete
    assert "linpack_by_size 5000" not in figures(one)
    assert changed("documented/intel", b"checks PASSED", b"checks FAILED").figures == ()


@pytest.mark.parametrize(
    ("shown", "status", "words"),
    [
        (b"env: '/opt/xhpl': No such file or directory\n", 127, "No such file or directory"),
        (b"", 0, "was cut off"),
        (b"HPLinpack 2.3  --  High\nEnd of Tests.\n", 0, "No LINPACK result"),
    ],
)
def test_what_gives_no_result_is_explained(shown: bytes, status: int, words: str) -> None:
    parser = LinpackParser()
    parser.feed(shown, "stderr")
    found = parser.finish(status)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = LinpackParser()
    assert list(parser.feed(data)) == []
    assert all(math.isfinite(figure.value) for figure in parser.finish().figures)


def test_an_output_cut_before_its_end_is_never_complete() -> None:
    data = capture(OPENBLAS).stdout
    end = data.index(b"End of Tests.")
    for length in range(0, end, 97):
        parser = LinpackParser()
        parser.feed(data[:length])
        assert not parser.finish().complete
