package ops_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

// systemd listens like the service manager and passes notices on.
func systemd(t *testing.T) (socket string, notices <-chan string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no datagram sockets")
	}
	socket = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			select {
			case out <- string(buf[:n]):
			default:
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return socket, out
}

func next(t *testing.T, notices <-chan string) string {
	t.Helper()
	select {
	case s := <-notices:
		return s
	case <-time.After(10 * time.Second):
		t.Fatal("no notice came")
		return ""
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	socket, notices := systemd(t)
	n := ops.NewNotifier([]string{"NOTIFY_SOCKET=" + socket}, 1)
	for _, tt := range []struct {
		call func() error
		want string
	}{
		{func() error { return n.Ready("listening\non :3000") }, "READY=1\nSTATUS=listening\\non :3000"},
		{n.Stopping, "STOPPING=1"},
	} {
		if err := tt.call(); err != nil {
			t.Fatal(err)
		}
		if got := next(t, notices); got != tt.want {
			t.Errorf("notice = %q, want %q", got, tt.want)
		}
	}
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	socket, notices := systemd(t)
	env := []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=20000", "WATCHDOG_PID=42"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sick atomic.Bool
	asked := make(chan struct{}, 64)
	done := make(chan error, 1)
	go func() {
		done <- ops.NewNotifier(env, 42).Watch(ctx, func(context.Context) error {
			if sick.Load() {
				select {
				case asked <- struct{}{}:
				default:
				}
				return errors.New("the store is stuck")
			}
			return nil
		})
	}()
	for range 3 {
		if got := next(t, notices); got != "WATCHDOG=1" {
			t.Errorf("notice = %q", got)
		}
	}
	sick.Store(true)
	<-asked // from here on every round is a sick one
	for len(notices) > 0 {
		<-notices
	}
	for range 5 {
		<-asked
	}
	// One may still have been on its way.
	if n := len(notices); n > 1 {
		t.Errorf("%d notices from a sick service", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNobodyToNotify(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{nil, {"NOTIFY_SOCKET="}, {"NOTIFY_SOCKET=relative"}} {
		n := ops.NewNotifier(env, 1)
		if n != nil {
			t.Errorf("NewNotifier(%q) is not nil", env)
		}
		if err := errors.Join(n.Ready("x"), n.Stopping()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := n.Watch(ctx, nil); err != nil {
			t.Error(err)
		}
	}
	gone := ops.NewNotifier([]string{"NOTIFY_SOCKET=/nonexistent/socket"}, 1)
	if runtime.GOOS != "windows" && gone.Ready("x") == nil {
		t.Error("no error for a socket that is gone")
	}
}
