# shellcheck shell=sh
# Removes a data folder when the process that owns it has no more use for it, or is gone.
#
#   sh -c "$(cat sweep.sh)" sweep FOLDER
#
# It waits for the end of standard input. A line on it means that the folder must stay.
read -r _ && exit
attempt=0
while [ "$attempt" -lt 50 ] && ! rm -rf -- "$1"; do
  attempt=$((attempt + 1))
  sleep 0.1
done
