"""The options and engines of fio whose effect on files is known; whatever is in no list here is refused."""

from collections.abc import Mapping
from types import MappingProxyType

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "blockalign": "ba",
        "blocksize": "bs",
        "blocksize_range": "bsrange",
        "blocksize_unaligned": "bs_unaligned",
        "disable_bw": "disable_bw_measurement",
        "fileoffset": "offset",
        "fill_fs": "fill_device",
        "io_limit": "io_size",
        "iodepth_batch_complete": "iodepth_batch_complete_min",
        "iodepth_batch_submit": "iodepth_batch",
        "iomem": "mem",
        "mem_align": "iomem_align",
        "nr_files": "nrfiles",
        "ratecycle": "rate_cycle",
        "ratemin": "rate_min",
        "readwrite": "rw",
        "ss": "steadystate",
        "ss_dur": "steadystate_duration",
        "ss_ramp": "steadystate_ramp_time",
        "timeout": "runtime",
        "wait_for_previous": "stonewall",
    }
)
"""Other spellings that fio accepts (options.c, alias); it knows no abbreviations in a job file."""

_NAMES = """
allow_file_create allow_mounted_write allrandrepeat apptag apptag_mask arguments atomic ba block_error_percentiles
bs bs_is_seq_rand bs_unaligned bsrange bssplit buffer_compress_chunk buffer_compress_percentage buffer_pattern
buffered bwavgtime cgroup_nodelete cgroup_weight clat_percentiles clocksource cmd_type cmdprio cmdprio_bssplit
cmdprio_class cmdprio_hint cmdprio_percentage continue_on_error cpuchunks cpuload cpumask cpumode cpus_allowed
cpus_allowed_policy create_fsync create_on_open create_only create_serialize dataplacement deac dedupe_global
dedupe_mode dedupe_percentage dedupe_working_set_percentage description direct directory disable_bw_measurement
disable_clat disable_lat disable_slat disk_util do_verify dp_scheme end_fsync error_dump exec_postrun exec_prerun
exit_on_io_done exit_what exitall exitall_on_error experimental_verify fadvise_hint fallocate fdatasync fdp fdp_pli
fdp_pli_select file_append file_service_type filename filename_format filesize fill_device fixedbufs flow flow_id
flow_sleep flow_watermark force_async fsync fsync_on_close gid gpu_dev_id grace_time group_reporting gtod_cpu
gtod_reduce hipri hipri_percentage hugepage-size ignore_error ignore_zone_limits invalidate io_size io_submit_mode
iodepth iodepth_batch iodepth_batch_complete_max iodepth_batch_complete_min iodepth_low ioengine iomem_align
iopsavgtime job_max_open_zones kb_base lat_percentiles latency_percentile latency_run latency_target latency_window
lockfile lockmem log_alternate_epoch log_alternate_epoch_clock_id log_avg_msec log_compression log_compression_cpus
log_entries log_hist_coarseness log_hist_msec log_issue_time log_max_value log_offset log_prio log_store_compressed
log_unix_epoch log_window_value loops max_latency max_open_zones md_per_io_size mem merge_blktrace_iters
merge_blktrace_scalars name new_group nice nonvectored norandommap nowait nrfiles num_range numa_cpu_nodes
numa_mem_policy number_ios numjobs offset offset_align offset_increment openfiles overwrite per_job_logs
percentage_random percentage_sequential percentile_list pi_act pi_chk plid_select plids pre_read prehint prio
prio_aging prio_hint prioclass program ramp_time random_distribution random_generator randrepeat randseed rate
rate_cycle rate_ignore_thinktime rate_iops rate_iops_min rate_min rate_process read_beyond_wp read_iolog_chunked
readfua recover_zbd_write_error refill_buffers registerfiles replay_align replay_no_stall replay_scale replay_skip
replay_time_scale runtime rw rw_sequencer rwmixcycle rwmixread rwmixwrite scramble_buffers serialize_overlap
significant_figures size slat_percentiles softrandommap sprandom sqthread_poll sqthread_poll_cpu startdelay
stat_type stats std_redirect steadystate steadystate_duration steadystate_ramp_time stonewall sync sync_file_range
thinktime thinktime_blocks thinktime_blocks_type thinktime_iotime thinktime_spin thp thread threads time_based
trim_backlog trim_backlog_batch trim_percentage trim_verify_zero uid uncached unified_rw_reporting unique_filename
unit_base unlink unlink_each_loop userspace_reap vectored verify verify_async verify_async_cpus verify_backlog
verify_backlog_batch verify_dump verify_fatal verify_header_seed verify_interval verify_mode verify_offset
verify_only verify_pattern verify_state_load verify_state_save verify_write_sequence verifysort verifysort_nr
wait_for write_barrier write_bw_log write_hint write_hist_log write_iolog write_iops_log write_lat_log write_mode
writefua zero_buffers zone_reset_frequency zone_reset_threshold zonecapacity zonemode zonerange zonesize zoneskip
"""

KNOWN = frozenset(_NAMES.split())
"""Options of fio 3.33 and later, and of the engines below, that open no file, or one that `targets` names."""

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "opendir": "works on every file that is in a directory at that moment; name the files with filename",
        "read_iolog": "replays what another file says, to whatever files that names",
        "replay_redirect": "replays what another file says",
        "merge_blktrace_file": "replays what other files say",
        "ioscheduler": "changes the I/O scheduler of the host’s disk, and nothing sets it back; use Tuning for that",
        "cgroup": "creates a cgroup and changes its weight on the host",
        "profile": "takes its jobs from a profile of fio, not from the file",
    }
)
"""Options whose effect cannot be read from the job file, and why."""

FILE_ENGINES = frozenset(
    {"sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "linuxaio", "posixaio", "io_uring", "mmap", "splice"}
)
"""Engines that read and write the files as the pattern says."""

CHANGING_ENGINES = frozenset({"falloc", "ftruncate", "filecreate", "filestat", "filedelete"})
"""Engines that create, cut or remove their files, whatever the pattern says."""

IDLE_ENGINES = frozenset({"null", "cpuio", "exec"})
"""Engines that open no file (fio, FIO_DISKLESSIO and FIO_NOIO); exec runs a program."""

ENGINES = FILE_ENGINES | CHANGING_ENGINES | IDLE_ENGINES
