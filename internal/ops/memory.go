package ops

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent trades memory for time: with 400 a read costs 13 to 30 percent
// less processor time than with Go's 100.
const gcPercent = 400

// leastLimit is the smallest memory limit we set, in bytes. Below it the
// collector would run all the time.
const leastLimit = 32 << 20

// besideGo is what the process holds outside of Go's memory: the program
// itself, and the caches of SQLite.
const besideGo = 96 << 20

// Memory is the result of Tune.
type Memory struct {
	GCPercent   int    // -1 when GOGC decides
	Limit       int64  // bytes; 0 means none
	LimitSource string // "GOMEMLIMIT", "cgroup v1", "cgroup v2", or "" for none
}

// Tune configures the garbage collector of this process: 400 percent, and a
// memory limit of what the control group allows minus a tenth, or minus 96 MiB
// for memory outside Go, so that the collector works harder before the kernel
// kills the process. GOGC and GOMEMLIMIT in env take precedence.
func Tune(env []string) Memory {
	m := choose(env, os.ReadFile)
	if m.GCPercent > 0 {
		debug.SetGCPercent(m.GCPercent)
	}
	if m.Limit > 0 && m.LimitSource != "GOMEMLIMIT" {
		debug.SetMemoryLimit(m.Limit)
	}
	return m
}

// choose is Tune without the effect.
func choose(env []string, read func(string) ([]byte, error)) Memory {
	m := Memory{GCPercent: gcPercent}
	if lookup(env, "GOGC") != "" {
		m.GCPercent = -1
	}
	if lookup(env, "GOMEMLIMIT") != "" {
		m.LimitSource = "GOMEMLIMIT"
		if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
			m.Limit = limit
		}
		return m
	}
	if limit, source := cgroupLimit(read); limit > 0 {
		m.Limit, m.LimitSource = max(min(limit/10*9, limit-besideGo), leastLimit), source
	}
	return m
}

// cgroupLimit is the smallest memory limit on the path from our control group
// to the root, 0 when there is none.
func cgroupLimit(read func(string) ([]byte, error)) (int64, string) {
	raw, err := read("/proc/self/cgroup")
	if err != nil {
		return 0, "" // not Linux
	}
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "" && parts[0] == "0":
			// high is where the kernel begins to throttle, max where it kills.
			if n := smallest(read, "/sys/fs/cgroup", parts[2], "memory.max", "memory.high"); n > 0 {
				return n, "cgroup v2"
			}
		case hasController(parts[1], "memory"):
			if n := smallest(read, "/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"); n > 0 {
				return n, "cgroup v1"
			}
		}
	}
	return 0, ""
}

func hasController(list, name string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// smallest reads the limits of group and all groups above it. In a container
// the path of the group may not exist below root; the root then is ours.
func smallest(read func(string) ([]byte, error), root, group string, names ...string) int64 {
	least := int64(0)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		for _, name := range names {
			raw, err := read(path.Join(root, dir, name))
			if err != nil {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
			// "max" means no limit, for which v1 has a huge number.
			if err == nil && n > 0 && n < 1<<60 && (least == 0 || n < least) {
				least = n
			}
		}
		if dir == "/" {
			return least
		}
	}
}
