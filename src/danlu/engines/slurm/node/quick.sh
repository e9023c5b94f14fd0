# Starts the command of a simple task. Read by bash in the attempt's folder, after the claim; what is
# returned from, the keeper does from the beginning, or tells why it cannot be done.
#
# Set by the file that reads this one (engines/slurm/quick.py): $1 the program, then its arguments;
# w the working folder, l the log, u the umask, n this node, h how long to wait each time,
# k the keeper's command, r the task's own folder (or nothing: one in /tmp), m a number to mark its processes with if
# Slurm does not find them all; volumes, folders of PATH; own(), which sets the variables.

[[ -p 0.out && -p ../../wait && -d $w && -x $w && -d ${l%/*} ]] || return 0
for f in "${volumes[@]}"; do
  [[ -d $f ]] || return 0
done

# -- the program --------------------------------------------------------------------------------
p= g=$1
case $1 in
  /*) p=$1 ;;
  */*) p=$w/$1 ;;
  *) for f in "${folders[@]}"; do
       [[ -x $f/$1 && ! -d $f/$1 ]] && { p=$f/$1 g=$p; break; }
     done ;;
esac
[[ -f $p && -x $p && -r $p ]] || return 0
IFS= LC_ALL=C read -rN 2 f <"$p" 2>/dev/null || return 0
case $f in
  '#!') # one whose interpreter is missing has words of its own
    IFS= read -r f <"$p" || return 0
    read -r f i <<<"${f#??}"
    [[ -x $f && ! -d $f ]] || return 0 ;;
  $'\x7f'E) ;;
  *) return 0 ;;
esac

if [[ -z $r ]]; then
  r=/tmp/danlu-$RANDOM$RANDOM$RANDOM
  mkdir -m 700 "$r" 2>/dev/null || return 0
  o=$r
fi

# -- the start ----------------------------------------------------------------------------------
now() { # bash 4 knows seconds only
  y=$EPOCHREALTIME
  [[ -n $y ]] || printf -v y '%(%s)T' -1
}
t=
trap 't=1' TERM
now
exec 3<>0.out 4>0.out 5<>../../wait || return 0
printf 'run %s %s %s %s\n' "$y" "$n" "${CUDA_VISIBLE_DEVICES:--}" \
  "${SLURM_STEP_GPUS:-${SLURM_JOB_GPUS:--}}" >>claim || return 0
[[ -z $m ]] || read -r f f f f b </proc/loadavg
exec 2>/dev/null
CHILD_MAX=32 # else bash makes room for the statuses of as many children as the user may have
set -m # its processes form a group, and signals are as usual
(
  cd -- "$w" || exit 126
  umask "$u"
  [[ -z $m ]] || ulimit -x "$m" # the kernel ignores this limit; children inherit it
  export -n LC_ALL # unset, bash would load another locale, for nothing
  unset ENVIRONMENT PWD OLDPWD SHLVL SLURM_GPUS_PER_TASK
  export CUDA_VISIBLE_DEVICES="$CUDA_VISIBLE_DEVICES" DANLU_RUN="$r"
  own
  a=$1
  shift
  exec -a "$a" "$g" "$@"
) </dev/null >&4 2>&1 3>&- 4>&- 5>&- &
c=$!
set +m
exec 4>&-

# -- a short while later ------------------------------------------------------------------------
for f in "${h[@]}"; do
  [[ -z $t ]] && kill -0 "$c" || break
  read -rt "$f" -u 5 # nobody writes there: a sleep without another process
done
exec 5>&-
if kill -0 "$c"; then
  trap '' TERM # the keeper looks for an order when it has begun
  exec "${k[@]}" "$d" "$c" "$r" "${t:-0}"
fi
wait "$c"
e=$?
kill -KILL -- "-$c" # what it left behind

# Slurm may not see what has left the group. Whatever began meanwhile and has the mark is ours.
for ((j = 0; j < 50; j++)); do
  [[ -n $m ]] || break
  read -r f f f f f </proc/loadavg
  left=()
  for ((i = b; i <= f; i++)); do
    [[ $i != "$$" && -O /proc/$i ]] && left+=("$i")
  done
  ((f < b)) && left=(/proc/[0-9]*) left=("${left[@]#/proc/}")
  z=
  for i in "${left[@]}"; do
    f=()
    mapfile -ts 11 -n 1 f </proc/"$i"/limits # that line alone: read takes twice as long for all
    [[ -z $f || $f == *"file locks  "* ]] || mapfile -t f </proc/"$i"/limits
    [[ "${f[*]}" == *"file locks  "*" $m "* ]] && kill -KILL "$i" && z=1
  done
  [[ -n $z ]] || break
done

# -- the end ------------------------------------------------------------------------------------
if read -rt 0 -u 3; then
  dd iflag=nonblock bs=65536 <&3 >>"$l"
else
  : >>"$l"
fi
[[ -z $o ]] || rm -rf -- "$o"
for ((i = 0; i < 600; i++)); do # a disk that is full may not stay so
  now
  printf 'end %s %s\n' "$e" "$y" >>claim && exit "$e"
  sleep 1
done
exit "$e"
