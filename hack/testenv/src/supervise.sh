# shellcheck shell=sh
# Runs one server and makes sure that it never outlives the process that asked for it.
#
#   sh -c "$(cat supervise.sh)" supervise LOG COMMAND [ARGUMENT...]
#
# Standard output tells the life of the server: "pid N", and "exit STATUS" when it has ended and has been reaped.
# Every line of standard input is the name of a signal for the server, answered by "sent". Standard input ends when the process
# that holds the other side of the pipe ends, for whatever reason, and that kills the server.
log=$1
shift
exec 3<&0 </dev/null

"$@" >>"$log" 2>&1 3<&- &
server=$!
echo "pid $server"

{
  while read -r signal <&3; do
    kill -s "$signal" "$server"
    echo sent
  done
  kill -s KILL "$server"
} 2>/dev/null &
reader=$!
exec 3<&-

wait "$server"
echo "exit $?"
kill -s KILL "$reader" 2>/dev/null
