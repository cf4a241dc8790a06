# Sourced by the scripts: compiler cache shared between clones, and the processors to build with.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
export CCACHE_NOHASHDIR=1
jobs=${HEXLANE_JOBS:-$(nproc)}
