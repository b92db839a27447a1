#!/bin/bash
# Renames the module: go.mod, every import, and the modules of examples that replace it. Usage: rename.sh NAME.
# As `make module PATH=NAME` the shell's own PATH is hidden by make's variable; make itself was started with it.
set -euo pipefail
new=${1:-}
if [ "$PATH" = "$new" ]; then
  PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin
  if [ -r "/proc/$PPID/environ" ]; then
    while IFS= read -r -d '' variable; do [[ $variable != PATH=* ]] || PATH=${variable#PATH=}; done < "/proc/$PPID/environ"
  fi
  export PATH
fi
cd "$(dirname "$0")/.."
[[ $new =~ ^[a-zA-Z0-9._~-]+(/[a-zA-Z0-9._~-]+)*$ ]] || { echo "usage: make module PATH=host/name, for instance PATH=example.com/recon" >&2; exit 2; }
old=$(sed -n 's/^module //p' go.mod)
# Only import paths: a quoted name with one of this module's folders behind it. Names in data, such as an id's namespace, stay.
dirs=$(find . -mindepth 1 -maxdepth 1 -type d ! -name '.*' -exec basename {} \; | paste -s -d '|')
git ls-files -z -co --exclude-standard -- '*.go' '*.md' '*.yml' '*.yaml' | xargs -0 sed -i -E "s#([\"\` ])${old//./\\.}/($dirs)([\"\`/])#\1$new/\2\3#g"
git ls-files -z -co --exclude-standard -- 'go.mod' '*/go.mod' | xargs -0 sed -i -E "s#^module ${old//./\\.}(/|\$)#module $new\1#; s#(^require |^replace |^\t)${old//./\\.}( v| =>|\$)#\1$new\2#"
echo "the module is $new (it was $old); run 'make check'"
