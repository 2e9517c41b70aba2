package ops

import (
	"io/fs"
	"math"
	"runtime/debug"
	"testing"
)

func TestChooseMemory(t *testing.T) {
	t.Parallel()
	own := debug.SetMemoryLimit(-1) // of this program: tests may run with one
	if own == math.MaxInt64 {
		own = 0
	}
	const v2, v1 = "0::/system.slice/hearth.service\n", "11:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n"
	for _, tt := range []struct {
		name  string
		env   []string
		files map[string]string
		want  Memory
	}{
		{"no cgroup", nil, nil, Memory{GCPercent: 400}},
		{"v2", nil, map[string]string{"/proc/self/cgroup": v2, "/sys/fs/cgroup/system.slice/hearth.service/memory.max": "268435460\n"}, Memory{400, 167772164, "cgroup v2"}},
		{"v2, the parent is tighter", nil, map[string]string{
			"/proc/self/cgroup": v2, "/sys/fs/cgroup/system.slice/hearth.service/memory.max": "2000000000\n", "/sys/fs/cgroup/system.slice/memory.max": "1500000000\n",
		}, Memory{400, 1350000000, "cgroup v2"}},
		{"v2 high", nil, map[string]string{
			"/proc/self/cgroup": v2, "/sys/fs/cgroup/system.slice/hearth.service/memory.max": "2000000000\n", "/sys/fs/cgroup/system.slice/hearth.service/memory.high": "1500000000",
		}, Memory{400, 1350000000, "cgroup v2"}},
		{"v2 in a container", nil, map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "2000000000\n"}, Memory{400, 1800000000, "cgroup v2"}},
		{"v2 without a limit", nil, map[string]string{"/proc/self/cgroup": v2, "/sys/fs/cgroup/system.slice/hearth.service/memory.max": "max\n"}, Memory{GCPercent: 400}},
		{"v1", nil, map[string]string{"/proc/self/cgroup": v1, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000000\n"}, Memory{400, 1800000000, "cgroup v1"}},
		{"v1 without a limit", nil, map[string]string{"/proc/self/cgroup": v1, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, Memory{GCPercent: 400}},
		{"tiny", nil, map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1048576\n"}, Memory{400, leastLimit, "cgroup v2"}},
		{"GOGC", []string{"GOGC=50"}, nil, Memory{GCPercent: -1}},
		{"GOMEMLIMIT", []string{"GOMEMLIMIT=off"}, map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1000000000\n"}, Memory{GCPercent: 400, Limit: own, LimitSource: "GOMEMLIMIT"}},
		{"nonsense", nil, map[string]string{"/proc/self/cgroup": "what\n0::/../../x\n", "/sys/fs/cgroup/x/memory.max": "-5"}, Memory{GCPercent: 400}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := choose(tt.env, func(name string) ([]byte, error) {
				if text, ok := tt.files[name]; ok {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			})
			if got != tt.want {
				t.Errorf("choose() = %+v, want %+v", got, tt.want)
			}
		})
	}
}
