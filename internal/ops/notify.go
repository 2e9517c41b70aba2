package ops

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Notifier sends notifications to systemd. A nil *Notifier, as outside systemd,
// does nothing.
type Notifier struct {
	socket   string
	watchdog time.Duration
}

// NewNotifier reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from env
// ("NAME=value"). It is nil when there is no receiver.
func NewNotifier(env []string, pid int) *Notifier {
	socket := lookup(env, "NOTIFY_SOCKET")
	if socket == "" || runtime.GOOS == "windows" || (socket[0] != '/' && socket[0] != '@') {
		return nil
	}
	n := &Notifier{socket: socket}
	usec, err := strconv.ParseInt(lookup(env, "WATCHDOG_USEC"), 10, 64)
	owner := lookup(env, "WATCHDOG_PID")
	if err == nil && usec > 0 && (owner == "" || owner == strconv.Itoa(pid)) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	return n
}

// Ready reports that the service answers requests. systemctl shows status.
func (n *Notifier) Ready(status string) error { return n.send("READY=1\nSTATUS=" + oneLine(status)) }

// Stopping reports that the service is ending.
func (n *Notifier) Stopping() error { return n.send("STOPPING=1") }

// Watch reports every half watchdog interval that the service is alive, as long
// as alive returns nil, until ctx ends. Otherwise it sends nothing, and systemd
// restarts the service. Without a watchdog it returns when ctx ends.
func (n *Notifier) Watch(ctx context.Context, alive func(context.Context) error) error {
	if n == nil || n.watchdog == 0 {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(n.watchdog / 2)
	defer ticker.Stop()
	for {
		check, cancel := context.WithTimeout(ctx, n.watchdog/2)
		if err := alive(check); err == nil {
			_ = n.send("WATCHDOG=1") // systemd notices the silence
		}
		cancel()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (n *Notifier) send(state string) error {
	if n == nil {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

func oneLine(s string) string { return cleanText(s, maxText) }

// lookup is the last value of name in env, as the system sees it.
func lookup(env []string, name string) string {
	value := ""
	for _, pair := range env {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}
