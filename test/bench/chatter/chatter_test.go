package chatter

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/test/server"
)

// TestGauges reads numbers as the server shows them, and misses none in silence:
// a row would find that nothing is left of what it cannot see.
func TestGauges(t *testing.T) {
	t.Parallel()
	page := "# HELP go_goroutines x\ngo_goroutines 31\ngo_memstats_heap_alloc_bytes 8.15e+06\ngo_memstats_stack_inuse_bytes 1\n" +
		"go_gc_duration_seconds_count 3\noracle_sockets 2\noracle_runs_active 0\nx{a=\"b c\"} 4\n"
	for _, tt := range []struct {
		name, page string
		status     int
		ok         bool
	}{
		{"all", page, 200, true},
		{"one is missing", strings.Replace(page, "oracle_sockets", "sockets", 1), 200, false},
		{"refused", page, 403, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.page))
			}))
			defer s.Close()
			g, err := readGauges(t.Context(), &server.Client{URL: s.URL})
			if (err == nil) != tt.ok {
				t.Fatalf("readGauges() = %v, want ok %t", err, tt.ok)
			}
			if tt.ok && (g[goroutines] != 31 || g[heapBytes] != 8_150_000) {
				t.Errorf("readGauges() = %v, want 31 goroutines and 8.15 MB", g)
			}
		})
	}
}

// TestRefused: a machine that does not allow enough files skips a row, and
// nothing else does.
func TestRefused(t *testing.T) {
	t.Parallel()
	err := needFiles(1 << 50)
	if !errors.Is(err, errRefused) {
		t.Fatalf("needFiles of too many = %v, want a refusal", err)
	}
	if err := skipRefused(err); err != nil {
		t.Errorf("skipRefused of a refusal = %v, want nil", err)
	}
	if err := skipRefused(errors.ErrUnsupported); err == nil {
		t.Error("skipRefused of another error = nil, want that")
	}
	if runtime.GOOS == "linux" {
		if err := needFiles(16); err != nil {
			t.Errorf("needFiles of a few = %v, want nil", err)
		}
	}
}

// TestAddresses: every client of a crowd has an address of this machine, and
// no address more than the server allows.
func TestAddresses(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i := range idleSockets {
		ip := loopback(i / socketsOfAddress)
		if !ip.IsLoopback() {
			t.Fatalf("address %d = %s, want one of 127.0.0.0/8", i, ip)
		}
		seen[ip.String()]++
	}
	for ip, n := range seen {
		if n > socketsOfAddress {
			t.Errorf("%s has %d sockets, want at most %d", ip, n, socketsOfAddress)
		}
	}
}
