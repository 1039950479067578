# Builds the C sources of a folder, with the SDK, into a component: `include` it, or run it there.
#
# clang with wasi-libc and its builtins (on Debian: clang-22, lld-22, libclang-rt-22-dev-wasm32 and
# wasi-libc; any wasi-sdk has them, too), and the linker wasm-component-ld, which rustup and wasi-sdk ship.

ifeq ($(origin CC),default)
CC = $(or $(shell command -v clang-22),clang)
endif
.DEFAULT_GOAL = $(COMPONENT)
COMPONENT ?= guest.wasm
SDK ?= bailiwick-guest
# Of Debian's wasi-libc; empty for a compiler that knows its own.
SYSROOT ?= $(if $(wildcard /usr/include/wasm32-wasi),--sysroot=/usr -I/usr/include/wasm32-wasi)
LINKER ?= $(or $(shell command -v wasm-component-ld),$(firstword \
	$(wildcard $(shell rustc --print sysroot)/lib/rustlib/*/bin/wasm-component-ld)))
CFLAGS ?= -Os -Wall -Wextra -Werror

SOURCES = $(wildcard *.c) $(wildcard $(SDK)/src/*.c) $(SDK)/bindings/bindings.c
HEADERS = $(wildcard *.h) $(wildcard $(SDK)/src/*.h $(SDK)/include/*.h $(SDK)/bindings/*.h)

$(COMPONENT): $(SOURCES) $(HEADERS)
	$(if $(LINKER),,$(error no wasm-component-ld: install rustup, or set LINKER))
	$(CC) --target=wasm32-wasi -Wno-deprecated $(SYSROOT) -std=c17 $(CFLAGS) -mexec-model=reactor \
		-isystem $(SDK)/bindings -I$(SDK)/include -fuse-ld=$(LINKER) -Wl,--gc-sections -Wl,-s \
		$(SOURCES) $(SDK)/bindings/bindings_component_type.o -o $@
