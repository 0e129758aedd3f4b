"""Whatever a line of the user's own is written like: it reaches no device, and everyday lines are not refused.

The host's guard alone judges each line; none of them is run.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.plans.plan import make_step
from remote.targets import REFUSED, judged, refusal
from suites.base import Context
from tests.loop_devices import MIB, loops, loops_to_itself

Names = dict[str, str]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    """Yield a loop device under the names that a line could give it."""
    root = tmp_path_factory.mktemp("guard")
    folder, private, secret = root / "asm", root / "private", root / "secret"
    for each in (folder / "deep", private / "sub", secret, *(root / "work" / name for name in ("src", "sub", "out"))):
        each.mkdir(parents=True)
    with loops(root) as make:
        with loops_to_itself():
            device = make("precious.img", MIB)
        for link in (folder / "l7", folder / "hostname", folder / "deep" / "hostname", private / "own", secret / "l7"):
            link.symlink_to(device)
        (folder / "up").symlink_to("/dev")
        (private / "other" / "deep").mkdir(parents=True)
        (private / "precious2.img").symlink_to(folder / "l7")
        os.mknod(folder / "node", 0o600 | 0o060000, Path(device).stat().st_rdev)
        os.link(root / "precious.img", root / "second.img")
        (private / "hostname").touch()
        (private / "other" / "deep" / "file").symlink_to(device)
        (root / "evil.fio").write_text(f"[j]\nrw=write\nsize=4k\nfilename={device}\n")
        yield {
            "device": device,
            "name": Path(device).name,
            "number": Path(device).name.removeprefix("loop"),
            "folder": str(folder),
            "link": str(folder / "l7"),
            "root": str(root),
            "private": str(private),
            "many": " ".join(map(str, range(70))),
            "work": str(root / "work"),
            "up": "../" * 12,
        }


def judge(line: str, names: Names, where: str = "private", **values: object) -> str:
    """Return why the guard of a host refuses `line` in a step's private directory; empty where it does not."""
    step = make_step("command", {"command": line, "shell": True, **values})
    (command,) = step.suite.commands(step.values, Context())
    done = subprocess.run(
        judged(command.targets, ["true"]),
        cwd=names[where],
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
# values that only running the line gives to variables
while [ ! -e dev ]; do cd ..; done; cd dev; dd of={name}
for c in / d e v / l o o p {number}; do D=$D$c; done; dd of=$D
for d in {many} {link}; do dd of=$d; done
for d in {many} {link}; do ./mytool $d; done
dd of={folder}/{{l,m}}{{7,8}}
dd of={folder}/{{{{l,m}},n}}{{7,8}}
dd of={folder}/{{a,b}}{{a,b}}{{a,b}}{{a,b}}{{a,b}}{{a,b}}{{a,b}}
. ./env; dd of=$TARGET
source env; dd of="$TARGET"
eval D={device}; dd of=$D
: ${{D:={device}}}; dd of=$D
printf -v D {device}; dd of=$D
export $(cat env); dd of=$D
declare "$(cat env)"; dd of=$D
D=/dev/; D+={name}; dd of=$D
: $((n=7)); dd of={folder}/l$n
PWD=/dev; dd of=$PWD/{name}
HOME=/dev; cd; dd of={name}
HOME=/dev; dd of=~/{name}
while IFS= read -r d; do dd of=$d; done < list
Xoo={device}; dd of=$X{{oo,pp}}
f=l7.bak; dd of={folder}/${{f%.bak}}
f=xl7; dd of={folder}/${{f#x}}
f=/x/l7; dd of={folder}/${{f##*/}}
dd of=${{X:-$HOME/asm/l7}}
X=1; dd of=${{X:+{link}}}
X=1; dd of=${{X:+$HOME/asm/l7}}
cd {folder}; X=l; Y=7; dd of=$X$Y
a=dd; b=of={device}; $a $b
a='dd of='; "$a"{device}
X='echo x'; $X>{link}
cp -r deep other
cp -a deep other
cp -r deep/. other/deep
debugfs -R 'dump <8> {device}' x.img
man -P 'dd of={device}' ls
pidstat -e dd of={device}
iconv -o {device} x
sudo -s 'cd /dev; dd of={name}'
sudo -i dd of={device}
echo x | (cd /dev; tee {name})
(cd {folder} && tar cf l7 .)
(cd {folder} && echo x > l7)
cd {folder} || exit; echo x > ./l7
cd {folder}/deep/.. && echo x > l7
cd {folder}/deep; cd ..; echo x > l7
touch x && mv x y && dd of={link}
tee {folder}/../asm/l7 < x
tee -- {link}
tee -a -- -x {link}
bash -c "echo x" >{link}
bash -c 'echo x >"$1"' x {link}
bash -c 'eval "$1"' x 'dd of={link}'
sh -c 'sh -c "$0"' 'dd of={link}'
sh -c 'sh -c "sh -c \"sh -c \\\"dd of={link}\\\"\""'
xargs -I{{}} sh -c 'dd of={{}}' < list
xargs -I {{}} sh -c 'cd /dev; dd of={{}}' < list
ls | xargs -I{{}} cp {{}} {folder}/
xargs -a list -n 1 shred
xargs --replace=% dd of=% < list
timeout 5 xargs dd < list
# what leads to a program, and where a command may be
exec >{link}; echo x
exec >{link} 2>&1
set -- {device}; dd of=$1
dd of={device}&
(dd of={device})
if [ x ]; then dd of={device}; fi
case x in *) dd of={device};; esac
cat x | sudo tee {link} >/dev/null
sh -c "cat > {link}" < x
env -i dd of={device}
env - dd of={device}
env -u A dd of={device}
env -iu A B=1 dd of={device}
command -p dd of={device}
exec -a x dd of={device}
nohup dd of={device} &
setsid -w dd of={device}
chrt -f 50 dd of={device}
ionice -c2 -n7 dd of={device}
stdbuf -oL dd of={device}
unshare -r dd of={device}
taskset 0x1 dd of={device}
sudo -n -u root -- dd of={device}
sudo -E env A=1 nice dd of={device}
doas dd of={device}
busybox dd of={device}
busybox tee {link}
\dd of={device}
'/bin/dd' of={device}
parted {device} print rm 1
e2fsck -n -y {device}
hdparm -t {device} --security-erase x
sort -ro {link} x
sort -S 50% -o{link} x
tee --append {link}
badblocks -n {device}
blockdev --setro {device}
sgdisk -p -Z {device}
losetup -d {device}
xz -dc x | dd of={link}
gzip -c x > {folder}/l"7"
dd if=x of={folder}/./l7
dd if=x of={folder}//l7
dd if=x of={folder}/deep/../l7
dd if=x "of={link}"
dd if=x of="{link}"
dd if=x o"f="{link}
split -b 1M x {link}
ddrescue x {link}
cat x | bash -c 'cat >{link}'
nice bash -c 'dd of={link}'
timeout 5 sh -c 'dd of={link}'
xargs -0 -n 1 -P 4 bash -c 'dd of="$1"' _ < list
hyperfine --prepare 'dd of={link}' true
# the third review: what the tables and words of the reader say without the kernel's help
zstdcat x.zst -o {device}
pv -U {device} x
pv --store-and-forward {device} x
udevadm lock -d x dd of={device}
sed 'w{link}' x
sed -n -e 'w{link}' x
sed 's/a/b/w{link}' x
D=$(head -1 t && date >&2); cp x $D
D=$(cat t; pwd >&2); cp x $D
dd of=$(cat t || hostname)
bash -c "jobs -x dd of={device}"
bash -c "mapfile -c1 -C 'dd of={device} #' A <f"
cp --parents dev/{name} /
cp -r --parents dev/{name} /
rsync -R dev/{name} /
unshare -m sh -c 'mkdir m; mount -t devtmpfs none m; dd if=f of=m/{name}'
watch -n1 -t dd of={link}
ssh host "cat x" | tee {link}
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


EVERYDAY = r"""
make -j$(nproc) > build.log
make -j$(nproc) >/dev/null 2>&1
make -C src -j4 all
make install DESTDIR=$PWD/out
for i in 1 2 3; do dd if=/dev/zero of=f$i bs=1M count=1; done
for f in *.c; do gcc -O2 -c $f; done
for f in *.c; do cp "$f" "$f.bak"; done
for s in 4k 64k 1M; do fio --name=a --rw=read --size=1m --bs=$s; done
for ((i=0; i<3; i++)); do echo $i > out.$i; done
i=0; while [ $i -lt 5 ]; do i=$((i+1)); dd if=/dev/zero of=part$i bs=1k count=1; done
n=0; while [ $n -lt 5 ]; do ./bench run $n; n=$((n+1)); done
pgbench -T 5 2>&1 | tee "out-$(date +%s).log"
./bench 2>&1 | tee -a log-$(hostname)-$(date +%Y%m%d).txt
./bench | tee log | grep total
./bench > results/$(hostname).txt
sh run.sh > results/$(hostname).txt
./bench > "out.$$" 2> err.$?
./bench > run-$RANDOM.log
cat /etc/passwd > "$OUT"
cat /etc/passwd > "${{OUT:-/tmp/out}}"
cp file $HOME/x
cp file ~/x
cp a ${{DIR:-/tmp}}/x
cp a "${{DIR:-/tmp}}/x-$(date +%s)"
cp -r /etc/apt out/
cp -a src/. build/
cp *.c /tmp/y/
mkdir -p out && cp -r /etc/apt out/
mkdir -p a/b && echo x > a/b/c
T=$(mktemp -d); cp /etc/passwd $T/x; rm -r $T
T=$(mktemp); ./bench > $T; rm "$T"
D=$(pwd); cd /tmp; ./bench $D/input > $D/out
cd /tmp && ./bench input && cd - >/dev/null
cd src && make && ./bench --fast
dd if={device} of=/dev/null bs=4k count=1
dd if=/dev/zero of=/dev/shm/bwx bs=4k count=1
dd if=/dev/zero of=t bs=1M count=1 && rm t
dd if=/dev/zero of=$HOME/t bs=1M count=1; sync; rm -f ~/t
dd if=/dev/zero of=t$(nproc) bs=1M count=1 oflag=direct 2>&1 | tail -1
fio --name=a --filename={device} --rw=randread --readonly --runtime=1
fio --version
fio --name=a --size=4k --rw=read --output-format=json
fio --name=a --size=4k --rw=read --output-format json --output result.json
fio --name=a --size=4k --rw=read --eta-newline 1
fio --name=a --size=4k --rw=read --eta=always --status-interval 1
fio --minimal --name=a --size=4k --rw=read
fio --name=a --ioengine=io_uring --hipri --rw=read --size=4k
fio --name=a --rw=write --size=1m --filename={work}/f --direct=1 --group_reporting
fio --name=a --rw=randrw --size=1m --directory=$HOME --time_based --runtime=$SECS
fio --name=a --rw=read --size=1g --numjobs=$(nproc) --thread --bs 4k --iodepth 32
fio --name=w --rw=write --size=1m --stonewall --name=r --rw=read --size=1m
tune2fs -l {device}
e2fsck -n {device}
e2fsck -fn {device}
fsck.ext4 -n {device}
xfs_info {device}
cryptsetup isLuks {device}
dumpe2fs -h {device}
blkid {device}
lsblk -o NAME,SIZE {device}
smartctl -a {device}
hdparm -tT {device}
hdparm -I {device} | grep Model
sudo hdparm -t {device}
blockdev --getsize64 {device}
sudo blockdev --getra {device}
fdisk -l {device}
parted -s {device} print
parted {device} unit MiB print
sgdisk -p {device}
wipefs {device}
badblocks -sv {device}
ioping -c 5 {device}
mdadm --detail {device}
nvme smart-log {device}
losetup -a
losetup --list {device}
sudo cat {device} | head -c 10 > out
head -c 1M {device} | sha256sum
cp {device} image
dd if=$DISK of=/dev/null bs=1M count=1
pv {device} > /dev/null
file -s {device}
stat {link}; readlink -f {link}; ls -l {folder}
tar -cf - /etc/apt | gzip > out.gz
tar xf src.tar.gz && cd src && ./configure --prefix=$HOME/x && make
gzip -c x > x.gz
(time gzip -k x) 2> t
{{ time ./bench; }} 2>&1
find . -type f -exec md5sum {{}} +
find . -name '*.o' -delete
find /etc -name '*.conf' | wc -l
find . -name '*.c' -exec wc -l {{}} \;
find sub -type f -exec gzip {{}} \;
find . -name '*.c' | xargs wc -l
ls *.c | xargs -n1 basename
find . -name '*.log' -print0 | xargs -0 rm -f
ls sub | xargs -P4 -I{{}} ./bench sub/{{}}
seq 8 | xargs -P8 -n1 ./bench
seq 8 | parallel ./bench {{}}
cat list | while read f; do ./bench "$f"; done
while read -r a b; do echo $a; done < list
./bench $(cat args)
./bench $1
gcc $CFLAGS -O2 -o bench bench.c -lm && ./bench
gcc $(pkg-config --cflags zlib) -o bench bench.c
CC=clang make
JAVA_OPTS=-Xmx1g java -jar bench.jar --threads $(nproc)
"$HOME"/bin/bench --dir /tmp
echo hi > /dev/null
echo x >&2
ls > /dev/stderr
echo x > /dev/stdout
sysbench cpu run 2>/dev/null >/dev/null
cat a 2>err.log 1>out.log
cat < list | sort -u > sorted; rm sorted
sort big > sorted; rm sorted
sort -k2 -n big | uniq -c | sort -rn | head
sort -o sorted big
awk '$1 > 5 {{print}}' /etc/passwd
awk -F: '{{ s += $3 }} END {{ print s }}' /etc/passwd
sed -n 's/x/y/p' /etc/passwd
python3 -c 'import json; print(json.dumps({{"a": [1, 2]}}))'
python3 -c "print(sum(i * i for i in range(10**6)))"
perl -ne 'print if /x/ && $. > 5' /etc/passwd
[ 5 -gt 3 ] && [ "a" \> "b" ]
if [ -f out ]; then rm out; else touch out; fi
case "$(uname -m)" in x86_64) ./bench;; *) echo no;; esac
test 1 -lt 2
true || echo no
openssl speed -seconds 1 sha256
fdisk -lu {device}
badblocks -sv -b 4096 {device}
sg_readcap {device}
sdparm --all {device}
mapfile -t A < list; ./bench "${{A[0]}}"
sed -i 's/new/old/' f
./bench > out-$(cat /proc/cpuinfo | grep processor | wc -l)
mount -t tmpfs none /mnt/x
ffmpeg -y -i in.mp4 -f null -
tee log < x
echo 1 | sudo tee /proc/sys/vm/drop_caches
sync; echo 3 > /proc/sys/vm/drop_caches
install -d /tmp/y
install -m 755 bench $HOME/bin/bench
rsync -a /etc/apt/ host:/tmp/
rsync -a --delete src/ dst/
scp host:/etc/hostname .
ln -s ../lib lib; ./bench lib/x
ln -sf /usr/bin/true tool && ./tool
ln -s /dev/null sink; ./bench > sink
mv a b; mv b/* c/
rm -rf build out-*
truncate -s 1G big; fallocate -l 1G big2
truncate -s ${{SIZE:-1G}} big
mkfs.ext4 -F disk.img
wget -q http://host/file -O file
curl -s http://host/ -o /dev/null -w '%{{time_total}}'
git clone --depth 1 http://host/x.git && cd x && make
timeout 60 ./bench
nice -n 10 taskset -c 0-3 ./bench --threads 4
numactl --cpunodebind=0 --membind=0 ./bench
sudo nice -n -5 ./bench
perf stat -e cycles ./bench
/usr/bin/time -v ./bench 2> time.txt
strace -c -o trace ./bench
env OMP_NUM_THREADS=4 ./bench
sh -c 'echo hello'
bash -c 'for i in {{1..10}}; do echo $i; done'
bash -c 'set -o pipefail; ./bench | tee log'
./bench {{1..4}} {{a,b}}.txt
./bench --size=1G --file=./data/x --out="/tmp/a b"
iozone -a -f {work}/x
bonnie++ -d {work} -u root
stress-ng --hdd 1 --temp-path . -t 5
docker run --rm -v $PWD:/x image bench
x=5; y=$((x * 2)); echo $y > out
: > empty; > empty2
trap 'rm -f tmp' EXIT; ./bench > tmp
set -e; ./bench
kill -0 $$; wait
date +%s.%N
./bench # a comment, it's fine
echo 'a > b' "c | d" e\ f
"""


@pytest.mark.parametrize("line", lines(EVERYDAY))
def test_an_everyday_line_is_not_refused(names: Names, line: str) -> None:
    assert judge(line.format(**names), names, "work") == ""


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("dd if=/dev/zero of=$WHERE", {"environment": "WHERE={device}"}),
        ("dd if=/dev/zero of=x$WHERE", {"environment": "WHERE=/../../asm/l7"}),
        ("cd dev; dd if=/dev/zero of={name}", {"environment": "CDPATH=/"}),
        ("dd if=/dev/zero of={name}", {"working_directory": "/dev"}),
        ("dd if=/dev/zero of=l7", {"working_directory": "{folder}"}),
        ("dd if=/dev/zero of={name}", {"working_directory": "{folder}/up"}),
        ("perl prog.pl -f{name}", {"working_directory": "/dev"}),
        ("dd if=/dev/zero of={link}", {"shell": False}),
        ("fio {root}/evil.fio", {"shell": False}),
        ("sh -c 'dd of={link}'", {"shell": False}),
        ("cp /etc/passwd {link} -v", {"shell": False}),
    ],
)
def test_a_line_reaches_no_device_by_its_other_parameters(
    names: Names, line: str, values: dict[str, str | bool]
) -> None:
    given: dict[str, Any] = {
        name: value.format(**names) if isinstance(value, str) else value for name, value in values.items()
    }
    assert judge(line.format(**names), names, **given)


@pytest.mark.parametrize("line", ["dd of=a*b", "echo x > /dev/loop0", "dd of=$X of=~/x", "echo ${x"])
def test_signs_mean_nothing_where_no_shell_reads_them(names: Names, line: str) -> None:
    assert judge(line, names, "work", shell=False) == ""


def test_what_this_account_may_not_look_at_is_refused(names: Names) -> None:
    """With sudo the program may write where the guard cannot look."""
    with tempfile.TemporaryDirectory() as made:
        open_to_all, secret = Path(made), Path(made) / "secret"
        open_to_all.chmod(0o755)
        secret.mkdir(mode=0o700)
        (secret / "link").symlink_to(names["device"])
        (open_to_all / "link").symlink_to(secret / "link")

        def refused(line: str) -> bool:
            step = make_step("command", {"command": line, "shell": True})
            (command,) = step.suite.commands(step.values, Context())
            words = judged(command.targets, ["true"])
            return subprocess.run(words, cwd=made, user=65534, capture_output=True, check=False).returncode == REFUSED

        for path in (f"{secret}/link", f"{made}/link", "link", "secret/link", "secret/new", f"{secret}/l*"):
            assert refused(f"sudo dd if=/dev/zero of={path}"), path
        for path in (f"{made}/new", "new", "/nowhere/new", f"{made}/new*"):
            assert not refused(f"sudo dd if=/dev/zero of={path}"), path


@pytest.mark.parametrize(
    "line",
    [
        "flock " * 3000,
        "sudo " * 3000 + "dd of=x",
        "xargs " * 3000 + "dd of=x",
        "{a,b}" * 800,
        "{{{{{{{{" * 300,
        "{a," * 900,
        "$(" * 2000,
        "$(a " * 300 + ")" * 300,
        "`a " * 2001,
        "( " * 3000,
        "${x:-" * 800 + "}" * 800,
        "$((" * 1500,
        "sh -c " * 1500 + "x",
        "eval " * 1500 + "x",
        "echo 'a b' | sh; " * 300,
        "ln -s a b; " * 300,
        "cd a; " * 600,
        "A=$A$A; " * 300 + "dd of=$A",
        "for i in 1 2 3; do A=$A$A$i; B=$A$B$i; done; " * 40,
        "find . -exec find . -exec " * 200 + "x ;",
        "parallel " * 800,
        "'a b' " * 1500,
        "> x " * 2000,
        "*" * 9000,
        "\\ " * 4000,
        "~" * 9000,
    ],
)
def test_a_line_that_asks_too_much_is_answered_at_once(names: Names, line: str) -> None:
    from_ = time.monotonic()
    judge(line[:4000], names, "work")
    assert time.monotonic() - from_ < 10


def test_a_refusal_is_readable(names: Names) -> None:
    assert "To read it, give it as standard input (< " in judge("./bench {device}".format(**names), names)
    assert judge("dd of=$1é", names) == (
        "dd writes to “...é”, and only a shell can tell which file that is; write it out."
    )
    assert "\u009b" not in judge("dd of=$1\u009b31m", names)
