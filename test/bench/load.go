package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// load is a closed loop of requests over a number of kept connections. It
// writes and reads HTTP by hand: the client shares the processors with the
// server, and its own cost distorts the ratio.
type load struct {
	pid   int // whose CPU time counts
	conns []*wire
	stop  func() error
}

// wire is one connection and the request it sends over and over.
type wire struct {
	c    net.Conn
	r    *bufio.Reader
	next func(n int) []byte // the n-th request, complete
	n    int
}

// request writes a request as it goes over the wire.
func request(method, path, key, body string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n", method, path, key)
	if method != "GET" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return []byte(b.String())
}

// dial opens n connections to addr.
func dial(addr string, pid, n int, next func(n int) []byte) (*load, error) {
	l := &load{pid: pid}
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.conns = append(l.conns, &wire{c: c, r: bufio.NewReader(c), next: next})
	}
	return l, nil
}

// redial closes all connections and opens new ones.
func (l *load) redial() error {
	for _, w := range l.conns {
		addr := w.c.RemoteAddr()
		if err := w.c.Close(); err != nil {
			return err
		}
		c, err := net.Dial(addr.Network(), addr.String())
		if err != nil {
			return err
		}
		w.c, w.r = c, bufio.NewReader(c)
	}
	return nil
}

func (l *load) close() error {
	var err error
	for _, w := range l.conns {
		err = errors.Join(err, w.c.Close())
	}
	if l.stop != nil {
		err = errors.Join(err, l.stop())
	}
	return err
}

// run sends requests on all connections until d is over.
func (l *load) run(ctx context.Context, d time.Duration) (sample, error) {
	before, err := server.CPU(l.pid)
	if err != nil {
		return sample{}, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sum sample
	var failed error
	start := time.Now()
	for _, w := range l.conns {
		wg.Go(func() {
			s, err := w.until(ctx, start.Add(d))
			mu.Lock()
			defer mu.Unlock()
			sum, failed = sum.add(s), errors.Join(failed, err)
		})
	}
	wg.Wait()
	sum.took = time.Since(start)
	after, err := server.CPU(l.pid)
	sum.cpu = after - before
	return sum, errors.Join(failed, err)
}

// until sends requests until end, and at least one: a server closes a new
// connection on which none comes, and on a busy machine a turn can be over before
// this connection has had its chance.
func (w *wire) until(ctx context.Context, end time.Time) (sample, error) {
	var s sample
	for {
		req, start := w.next(w.n), time.Now()
		if s.ops > 0 && start.After(end) || ctx.Err() != nil {
			return s, nil
		}
		w.n++
		if _, err := w.c.Write(req); err != nil {
			return s, err
		}
		if err := w.answer(); err != nil {
			return s, err
		}
		s.each = append(s.each, time.Since(start))
		s.ops++
	}
}

// answer reads one answer that has a length and must be a good one.
func (w *wire) answer() error {
	line, err := w.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 || line[9] != '2' {
		return fmt.Errorf("answer %q to a request that should work: %s", line, w.rest())
	}
	length := -1
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		const name = "content-length:"
		if len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			if length, err = strconv.Atoi(strings.TrimSpace(string(line[len(name):]))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("answer without a length")
	}
	_, err = w.r.Discard(length)
	return err
}

// rest returns what has arrived of a bad answer, for the error message.
func (w *wire) rest() string {
	text, _ := w.r.Peek(w.r.Buffered())
	return string(text)
}
