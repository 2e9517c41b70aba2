package web

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// deadlines counts the deadlines a connection is given.
type deadlines struct {
	net.Conn
	set, write int
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.write++
	return d.Conn.SetWriteDeadline(t)
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set++
	return d.Conn.SetReadDeadline(t)
}

func newCounted(t *testing.T) (c *countedConn, under *deadlines, other net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	under = &deadlines{Conn: near}
	return &countedConn{Conn: under, leave: func() {}}, under, far
}

// A deadline nobody reads under costs nothing.
func TestDeadlineWaitsForARead(t *testing.T) {
	t.Parallel()
	c, under, other := newCounted(t)
	for range 5 {
		if err := errors.Join(c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetReadDeadline(time.Time{})); err != nil {
			t.Fatal(err)
		}
	}
	go other.Write([]byte("x"))
	if _, err := c.Read(make([]byte, 1)); err != nil || under.set != 0 {
		t.Errorf("Read: %v, after %d deadlines; want none", err, under.set)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		go other.Write([]byte("x"))
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Errorf("Read: %v", err)
		}
	}
	if under.set != 1 {
		t.Errorf("%d deadlines for two reads under one, want 1", under.set)
	}
}

func TestPassedDeadlineEndsTheNextRead(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*countedConn) error{
		"SetReadDeadline": func(c *countedConn) error { return c.SetReadDeadline(time.Unix(1, 0)) },
		"SetDeadline":     func(c *countedConn) error { return c.SetDeadline(time.Unix(1, 0)) },
	} {
		c, _, _ := newCounted(t)
		if err := set(c); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read after %s in the past: %v, want the deadline", name, err)
		}
	}
}

// As net/http ends its read in the background.
func TestDeadlineEndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	c, _, other := newCounted(t)
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err
	}()
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil { // before it or during it
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the read that waited: %v, want the deadline", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go other.Write([]byte("x"))
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("Read without a deadline: %v", err)
	}
}

// A write deadline is renewed when it matters.
func TestWriteDeadline(t *testing.T) {
	t.Parallel()
	c, under, _ := newCounted(t)
	base := time.Now().Add(time.Hour)
	for _, tt := range []struct {
		name string
		at   time.Time
		want int
	}{
		{"the first", base, 1},
		{"a moment later", base.Add(time.Second), 1},
		{"much later", base.Add(time.Minute), 2},
		{"earlier", base, 3},
		{"none", time.Time{}, 4},
		{"again", base, 5},
		{"soon", time.Now().Add(20 * time.Millisecond), 6},
		{"soon, a moment later", time.Now().Add(40 * time.Millisecond), 7},
	} {
		if err := c.SetWriteDeadline(tt.at); err != nil || under.write != tt.want {
			t.Errorf("%s: %v, %d deadlines handed on, want %d", tt.name, err, under.write, tt.want)
		}
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write nobody reads: %v, want the deadline", err)
	}
}

// A socket gets the connection with the deadline that was set last, and leaves
// its place when it closes it.
func TestHandOver(t *testing.T) {
	t.Parallel()
	c, under, other := newCounted(t)
	left := 0
	c.leave = func() { left++ }
	past := c.SetReadDeadline(time.Unix(1, 0))
	if _, err := c.Read(make([]byte, 1)); past != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("Read: %v, %v, want the deadline", past, err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil || under.set != 1 {
		t.Fatalf("%v, %d deadlines; want the second one to wait for a reader", err, under.set)
	}
	held, err := c.handOver()
	if err != nil {
		t.Fatal(err)
	}
	go other.Write([]byte("x"))
	if n, err := held.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("Read of the socket: %d, %v; want one byte and no deadline", n, err)
	}
	if err := held.Close(); err != nil || left != 1 {
		t.Errorf("Close: %v, left %d times, want once", err, left)
	}
}
