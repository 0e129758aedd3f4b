"""Whatever a line of the user's own is written like: it reaches no device, and everyday lines are not refused.

The host's guard alone judges each line; none of them is run.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.plans.plan import make_step
from remote.targets import REFUSED, judged, refusal
from suites.base import Context
from tests.loop_devices import MIB, loops

Names = dict[str, str]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    """Yield a loop device under the names that a line could give it."""
    root = tmp_path_factory.mktemp("guard")
    folder, private, secret = root / "asm", root / "private", root / "secret"
    for each in (folder / "deep", private / "sub", secret):
        each.mkdir(parents=True)
    with loops(root) as make:
        device = make("precious.img", MIB)
        for link in (folder / "l7", folder / "hostname", folder / "deep" / "hostname", private / "own", secret / "l7"):
            link.symlink_to(device)
        (folder / "up").symlink_to("/dev")
        (private / "precious2.img").symlink_to(folder / "l7")
        os.mknod(folder / "node", 0o600 | 0o060000, Path(device).stat().st_rdev)
        os.link(root / "precious.img", root / "second.img")
        (private / "hostname").touch()
        (root / "evil.fio").write_text(f"[j]\nrw=write\nsize=4k\nfilename={device}\n")
        yield {
            "device": device,
            "name": Path(device).name,
            "number": Path(device).name.removeprefix("loop"),
            "folder": str(folder),
            "link": str(folder / "l7"),
            "root": str(root),
            "private": str(private),
            "up": "../" * 12,
        }


def judge(line: str, names: Names, **values: object) -> str:
    """Return why the guard of a host refuses `line` in a step's private directory; empty where it does not."""
    step = make_step("command", {"command": line, "shell": True, **values})
    (command,) = step.suite.commands(step.values, Context())
    done = subprocess.run(
        judged(command.targets, ["true"]),
        cwd=names["private"],
        capture_output=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": names["root"], "OUT": f"{names['root']}/out", "DISK": names["device"],
             "OPTIONS": f"-v --output={names['device']}", "DD": f"bs=4k of={names['device']}"},
    )  # fmt: skip
    assert done.returncode in {0, REFUSED}, done
    assert bool(done.returncode) == bool(done.stderr), done
    return refusal(done.returncode, done.stderr)


REFUSED_LINES = r"""
# redirections, glued to words or not
echo garbage>{device}
cat /etc/passwd>{link}
echo x>>{link}
echo x>|{link}
echo x 2>{link}
echo x >&{link}
echo x &>{link}
echo x &>>{link}
echo x 1<>{link}
:>{link}
>{link}
>{link} echo x
(echo x)>{link}
{{ echo x; }}>{link}
for i in 1 2; do echo $i; done>{link}
while :; do echo x; done >{link}
if true; then echo x; fi>{link}
echo "a>b">{link}
echo x>{up}{link}
echo x>{folder}/l[0-9]
echo x>{folder}/"l"7
echo x>{folder}/\l7
echo x>'{folder}'/l7
echo x>$'{link}'
echo x>$'\x2fdev\x2f{name}'
exec 3>{link}; echo x >&3
exec {{fd}}>{link}
cat <<< x >{link}
echo x | tee >(cat >{link})
echo "$(cat /etc/passwd >{link})"
echo `cat /etc/passwd >{link}`
echo $(( $(cat /etc/passwd >{link}) + 1 ))
echo ${{X:-$(cat /etc/passwd >{link})}}
X=$(cat /etc/passwd >{link}) true
case x in x) echo x>{link} ;; esac
echo "#" >{link}
# programs that copy
cp /etc/passwd {device} -v
cp -v /etc/passwd {device} --
cp -f -- /etc/passwd {link}
cp /etc/passwd {link} -S .old
cp /etc/passwd {link} --suffix .old
cp /etc/passwd {link} --suffix=.old
cp -vS .old /etc/passwd {link}
cp -t {folder} /etc/hostname
cp -vt {folder} /etc/hostname
cp --target-directory={folder} /etc/hostname
cp --target {folder} /etc/hostname
cp /etc/hostname {folder}
cp /etc/hostname {folder}/
cp /etc/host* {folder}/
cp /etc/hostname /etc/passwd -t {folder}
cp -r deep {folder}
cd /dev && cp --remove-destination -T /etc/passwd {name} -v
cd /dev; cp /etc/passwd {name}
install -m 600 /etc/passwd {link} -v
install /etc/hostname {folder}
install -D /etc/passwd {link} -o root
mv precious {device} -f
mv {device} away
mv -f {link} {link}
rsync --inplace --write-devices /etc/passwd {device} -q
rsync -e ssh /etc/passwd {link}
scp host:disk.img {device}
cat /etc/passwd | cp /dev/stdin {link}
# programs that write to what follows them
xxd -r h.hex {device}
file -C -m {link}
pv -o {link} /etc/passwd
tee -a {link} </etc/passwd
echo x | tee one two {link} three
truncate -s 0 {link}
shred -n 1 {device}
sort /etc/passwd -o {link}
sort -o{link} /etc/passwd
sort --output={link} /etc/passwd
sort --out {link} /etc/passwd
cd /dev; sort /etc/passwd -o{name}
cd /dev; curl http://host/ -o{name}
wget -O {link} http://host/
curl http://host/ --output {link}
sed -i s/a/b/ {link}
tar -cf {link} /etc
tar cf {device} /etc
tar -C /dev -cf {name} /etc
mkfs.ext4 -F {link}
mke2fs {device}
wipefs -a {device}
wipefs -a {link}
blkdiscard {device}
sgdisk -Z {device}
parted -s {device} mklabel gpt
echo w | fdisk {device}
echo ,, | sfdisk {device}
fsck -y {device}
e2fsck -f {device}
tune2fs -L x {device}
resize2fs {device}
hdparm --security-erase x {device}
nvme format {device}
cryptsetup luksFormat {device}
pvcreate {device}
mdadm --create /dev/md0 {device}
mkswap {device}
ddrescue /etc/passwd {device}
ioping -W {device}
ioping -WWW -c 1 {link}
badblocks -w {device}
badblocks -wsv {device}
smartwrite {device}
debugfs -w {device}
rm -f {device}
rm -rf {folder}/node
chmod 666 {device}
docker run -v {device}:/x image
qemu-system-x86_64 -drive file={device},format=raw
./mytool --disk={device}
./mytool -d{device}
./mytool a,{device},b
./mytool @{device}
python3 -c 'open("{device}", "wb").write(b"x" * 9)'
perl -e 'open F, "+<", "{link}"; print F "x"'
# patterns, braces and variables before programs of which nothing is known, and before those that write
wipefs -a /dev/{name}*
wipefs -a {folder}/l?
wipefs -a {folder}/{{l7,none}}
wipefs -a {folder}/{{none,l{{6..8}}}}
perl -e 'open F,"+<",$ARGV[0]; print F "x"x9999' /dev/loop[{number}]
perl prog.pl {folder}/*
./mytool {folder}/l{{6..8}}
./mytool /dev/{{{name},}}
bash -c './mytool /dev/{{{name},}}'
./mytool /dev/$(echo {name})
./mytool /dev/`echo {name}`
D=/dev/; ./mytool $D{name}
D={name}; ./mytool /dev/$D
D="{device}"; dd if=/dev/zero of="$D"
D=/dev; D=$D/{name}; dd of=$D
export D={device}; dd of=$D
D={device} && dd of=$D
[ -n "$X" ] || X={device}; dd of=$X
for d in one {link}; do dd if=/dev/zero of=$d; done
for d in {folder}/*; do dd if=/dev/zero of=$d; done
for d; do dd of=$d; done
while read d; do wipefs -a $d; done < list
read d < list; dd if=/dev/zero of=$d
dd of=$1
dd of="$@"
dd of=${{X:-{link}}}
dd of=${{X-{link}}}
: ${{X:={link}}}; dd of=${{X:={link}}}
dd of=${{x#a}}
dd of=${{x:-$(cat f)}}
dd if=/dev/zero of=$DISK
dd if=/dev/zero $DD
dd if=/dev/zero ${{DD}}
./mytool $DISK
./mytool $OPTIONS
wipefs -a "${{DISK}}"
A="if=/dev/zero of={device}"; dd $A
C="dd of={device}"; $C
C=dd; $C of={device}
$(echo dd) if=/dev/zero of={device}
d\d of={device}
"dd" of={device}
'd'"d" of={device}
(exit 7); dd if=/dev/zero bs=4k count=1 of={folder}/l$?
(exit 7); dd if=/dev/zero bs=4k count=1 of={folder}/l$((3 + 4))
n=0; n=$((n + 7)); dd of={folder}/l$n
for n in 6 7 8; do dd of={folder}/l$n; done
for n in $(seq 9); do dd of={folder}/l$n; done
for ((n=0; n<9; n++)); do dd of={folder}/l$n; done
i=6; ((i++)); dd of={folder}/l$i
dd of={folder}/l$RANDOM
dd of=~/asm/l7
dd of=$HOME/asm/l7
dd of=${{HOME}}/asm/l7
dd of=~root/../{link}
dd of={folder}/$(cat name)
dd of=$PWD/../asm/l7
dd of=$(pwd)/../asm/l7
dd of=$OLDPWD/l7
dd${{IFS}}if=/dev/zero${{IFS}}of={device}
# words that other commands print
echo of={device} | xargs dd if=/dev/zero bs=4k count=1
echo {device} | xargs -I% dd if=/dev/zero of=% bs=4k
echo {device} | xargs -I {{}} ./mytool {{}}
echo {device} | xargs ./mytool
echo {link} | xargs -n1 perl prog.pl
ls /dev | grep {name} | sed s,^,/dev/, | xargs ./mytool
lsblk -no PATH | xargs -n1 ./mytool
find / -name {name} | xargs dd if=/dev/zero
echo l7 | xargs tee
echo {name} | xargs -I% cp /etc/passwd /dev/%
echo {name} | xargs -I% cp -t /dev/ %
echo {name} | xargs sh -c 'dd of=/dev/$0'
parallel dd if=/dev/zero of={{}} ::: {device}
parallel 'dd if=/dev/zero of=/dev/{{}}' ::: {name}
parallel ./mytool ::: {device}
echo 'dd if=/dev/zero of={device}' | sh
echo 'cd /dev; dd if=/dev/zero of={name}' | sh
echo dd of={device} | bash
printf 'dd of=%s' {device} | bash -s
echo 'dd of={device}' | sudo sh
sh <<< 'dd of={device}'
echo 'dd of={device}' | {{ cat; }} | sh
echo 'echo x >{link}' | sh -x
cat() {{ perl prog.pl "$@"; }}; cat {device}
cat () {{ dd of="$1"; }}; cat {device}
function cat {{ perl prog.pl "$@"; }}; cat {device}
w() {{ ./mytool $1; }}; echo {device}; w x
alias cat='dd of={device}'; cat
alias w=./mytool; cat {device}
eval "dd of={device}"
eval dd of={device}
eval $1
eval "$CMD"
d=of={device}; eval dd '$d'
trap 'dd of={device}' EXIT
echo {device} | while read d; do ./mytool $d; done
cat {device} | read x; ./mytool $x
./mytool $(echo {device})
./mytool $(ls {device})
./mytool `ls -d {folder}/*`
watch -n 1 dd of={device}
watch -n 1 'dd of={device}'
su -c 'dd of={device}'
su root -c "cd /dev; dd of={name}"
flock lock dd of={device}
flock lock -c 'dd of={device}'
script -c 'cd /dev; dd of={name}' log
hyperfine 'cd /dev; dd if=/dev/zero of={name}'
ssh localhost dd of={device}
find {folder} -name l7 -exec dd if=/dev/zero of={{}} ;
find {folder} -name l7 -exec dd if=/dev/zero of={{}} \;
find {folder} -name l7 -exec ./mytool {{}} +
find {root} -name l7 -exec ./mytool {{}} \;
find -L . -name {name} -exec ./mytool {{}} \;
find /dev -maxdepth 1 -name {name} -exec cp /etc/passwd {{}} \;
find /dev -name {name} -delete
find /dev -name {name} -exec sh -c 'dd of=$0' {{}} \;
find . -exec sh -c 'dd of={device}' \;
find . -execdir dd of={device} \;
find . -fprint {link}
find . -fprintf {link} %p
find {folder}/up/ -type b -ok ./mytool {{}} \;
# directories that no cd names
env -C /dev dd if=/dev/zero of={name} bs=4k count=1
env --chdir=/dev dd if=/dev/zero of={name}
env --chdir /dev dd if=/dev/zero of={name}
env -C/dev dd if=/dev/zero of={name}
env -S 'dd if=/dev/zero of={device}'
sudo -D /dev dd if=/dev/zero of={name}
sudo --chdir=/dev tee {name}
systemd-run --working-directory=/dev dd of={name}
systemd-run -p WorkingDirectory=/dev dd of={name}
make -C /dev {name}
git -C /dev clone x {name}
cd /dev; dd if=/dev/zero of={name}
cd /; cd dev; dd if=/dev/zero of={name}
cd {folder}/up && dd of={name}
cd {folder}/u* && dd of={name}
pushd /dev; dd of={name}
(cd /dev; dd of={name})
cd $(dirname {link}) && dd of=l7
cd -; dd of=l7
CDPATH=/ cd dev; dd of={name}
CDPATH=/; cd dev && dd of={name}
cd /dev; perl -e 'open F, "+<{name}"'
cd /dev; ./mytool --file={name}
cd /dev; ./mytool -f{name}
cd /dev; ./mytool *
chroot / dd of={device}
chroot {root} dd of=/asm/l7
unshare -m dd of={device}
bash -c 'cd /dev; ./mytool "$@"' x {name}
bash -lc 'dd of={device}'
bash -x -c 'dd of={device}'
bash -o pipefail -c 'dd of={device}'
sh -c "sh -c 'sh -c \"dd of={device}\"'"
busybox sh -c 'dd of={device}'
D={device}; sh -c "dd of=$D"
export D={device}; sh -c 'dd of=$D'
nice -n 5 dd of={device}
sudo -u root dd of={device}
sudo --user root dd of={device}
time -p dd of={device}
timeout -k 5 10 dd of={device}
timeout 10 sudo nice dd of={device}
taskset -c 0 dd of={device}
numactl -N 0 dd of={device}
numactl --cpunodebind=0 dd of={device}
ionice -c 3 dd of={device}
strace -o {link} true
strace -f dd of={device}
time -o {link} true
perf stat dd of={device}
! dd of={device}
if dd of={device}; then :; fi
true && dd of={device}
true | dd of={device}
true & dd of={device}
coproc dd of={device}
exec dd of={device}
/bin/dd of={device}
/usr/bin/../bin/dd of={device}
X=1 dd of={device}
>/dev/null dd of={device}
</etc/passwd dd of={device}
dd if=/dev/zero 2>/dev/null of={device}
dd of=mine of={device}
# lines that change what a path is
ln -s /dev d && dd if=/dev/zero of=d/{name} bs=4k count=1
ln -s /dev d; cd d; dd of={name}
ln -s / d; dd of=d/dev/{name}
ln -sT {folder} d; dd of=d/l7
ln -s {folder}; dd of=asm/l7
ln -s -t . {folder}; dd of=asm/l7
ln -s {device} d; dd of=d
ln {folder}/node d; dd of=d
ln -sf ../asm/l7 sub/d; dd of=sub/d
ln -s ../asm d; dd of=d/l7
ln -s ../../asm/l7 sub/d; dd of=sub/d
cp -a {device} n && dd if=/dev/zero of=n bs=4k count=1
cp -R {device} n && dd if=/dev/zero of=n
cp -d {link} n && dd if=/dev/zero of=n
cp -s {device} n; dd of=n
cp -l {folder}/node n; dd of=n
cp --archive /dev d; dd of=d/{name}
cp -a {folder} d; dd of=d/l7
cp -a {folder} sub; dd of=sub/asm/l7
mv {folder} d; dd of=d/l7
rsync -a {folder}/ d; dd of=d/l7
mount --bind /dev d; dd of=d/{name}
mount --bind {folder} d; dd of=d/l7
mount {device} d
mount -o remount,rw {device}
mkdir new; dd of=new/../../asm/l7
mkdir new; cd new; dd of=../../asm/l7
mkdir -p new/er; echo x > new/er/../../../asm/l7
mknod d b 7 {number}; dd of=d
mknod -m 600 d b 7 {number}; dd of=d
losetup {device} disk.img
# files behind devices, and files of processes
dd of={root}/precious.img
dd of={root}/second.img
echo x>/proc/self/fd/5
dd of=/proc/self/root{device}
# fio's own words
fio {root}/evil.fio
fio --zero_buffers {root}/evil.fio
fio --bandwidth-log {root}/evil.fio
fio --warnings-fatal {root}/evil.fio
fio --append-terse {root}/evil.fio
fio --exitall_on_error {root}/evil.fio
fio --hipri {root}/evil.fio
fio --minimal {root}/evil.fio
fio --time_based {root}/evil.fio
fio --thread {root}/evil.fio
fio --group_rep {root}/evil.fio
fio --crctest {root}/evil.fio
fio - < {root}/evil.fio
fio -- {root}/evil.fio
fio --nosuch {root}/evil.fio
fio --nosuch=1 --name=a
fio --section=j {root}/evil.fio
fio --name=a --rw=write --size=1m --filename={device} --filename={private}/new1
fio --name=a --rw=write --size=1m --filename={private}/new1 --filename={device}
fio --filename={device} --name=a --rw=write --size=1m --filename={private}/new1
fio --name=a --rw=write --size=4k --filename=one:{link}
fio --name=a --rw=write --size=4k --directory={folder} --filename=l7
fio --name=a --rw=write --size=4k --directory /dev --filename {name}
fio --name={name} --directory=/dev --rw=write --size=4k
fio --name=a --rw=trim --filename={link}
fio --name=a --rw=write --size=4k --filename={folder}/l*
fio --name=a --rw=write --size=4k --filename=$DISK
fio --name=a --rw=write --size=4k --filename=$1
fio --name=a --rw=write --size=4k --filename=$DISK --filename=x
cd /dev; fio --name=a --rw=write --size=4k --filename={name}
env -C /dev fio --name=a --rw=write --size=4k --filename={name}
cd $(cat d); fio --name=a --rw=write --size=4k --filename={name}
fio --profile=act --device-names={device} --prep
fio --profile act
fio --name=a --profile=tiobench --rw=read
fio --name=a --size=4k --exec_prerun='dd if=/dev/zero of={link} bs=4k count=1'
fio --name=a --size=4k --exec_postrun='echo x >{link}'
fio --name=a --ioengine=exec --program=dd --arguments='of={device}'
fio --name=a --size=4k --trigger='dd of={link}' --trigger-timeout=1
fio --trigger='dd of={link}' --trigger-timeout=1 --name=a --size=4k
fio --trigger-remote='dd of={link}' --name=a --size=4k
fio --trigger-file={link} --name=a --size=4k
fio --name=a --size=4k --output={link}
fio --outp {link} --name=a --size=4k
fio --daemonize={link} --name=a
fio --server
fio --server=127.0.0.1
fio --client=host --name=a
fio --name=a --ioengine=rbd --rbdname={device}
fio --name=a --opendir={folder}
fio --name=a --read_iolog={root}/evil.fio
xargs fio --name=a --rw=write < list
"""

WITH_QUESTIONS_OF_ITS_OWN = r"""
dd if=/dev/zero of={link} 'unclosed
echo $(dd of=x
echo ${{x
cat <<EOF
"""


def lines(table: str) -> list[str]:
    """Return the lines of a table without its headings."""
    return [line for line in table.split("\n") if line and not line.startswith("# ")]


@pytest.mark.parametrize("line", lines(REFUSED_LINES) + lines(WITH_QUESTIONS_OF_ITS_OWN))
def test_a_line_that_reaches_a_device_is_refused(names: Names, line: str) -> None:
    assert judge(line.format(**names), names)
