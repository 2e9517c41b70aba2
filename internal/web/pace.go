package web

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Pace is the minimum speed of a client. Zero values are the defaults, chosen
// so that a phone on a 2G network passes.
type Pace struct {
	ReadBase  time.Duration // a body may take this long before its speed counts; 10 s
	WriteBase time.Duration // one write of an answer may take this long; 30 s
	MinRate   int           // bytes a second, both ways; 2 KiB
	Silence   time.Duration // nothing of a body may come for this long, however fast it was; 1 minute
}

// Middleware times the body of a request and each write of its answer. A body must arrive
// within ReadBase plus the time its bytes take at MinRate, checked as they arrive, and
// may never be silent for longer than Silence, so that a fast start does not earn hours
// for the rest. Each write and flush of the answer has its own deadline, so a stream
// lives as long as its reader reads. The rest of a body that a handler has not read is
// read and dropped: see drop.
func (p Pace) Middleware(next http.Handler) http.Handler {
	p.ReadBase = orDefault(p.ReadBase, 10*time.Second)
	p.WriteBase = orDefault(p.WriteBase, 30*time.Second)
	p.MinRate = orDefault(p.MinRate, 2<<10)
	p.Silence = orDefault(p.Silence, time.Minute)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pw := &pacedWriter{ResponseWriter: w, rc: http.NewResponseController(w), pace: p, streams: r.ProtoMajor > 1, endless: r.ContentLength > dropBytes}
		if !pw.streams && r.Header["Expect"] != nil {
			// The "100 Continue" goes out before anything the handler writes,
			// and needs a deadline that is its own.
			pw.armWrite(0)
		}
		if r.Body != nil && r.Body != http.NoBody {
			pw.body = &pacedBody{ReadCloser: r.Body, rc: pw.rc, pace: p}
			r.Body = pw.body
		}
		next.ServeHTTP(pw, r)
		if !pw.hijacked {
			pw.drop(r)
			pw.arm(0) // for what net/http still reads and writes
		}
	})
}

func (p Pace) transfer(bytes int64) time.Duration {
	return time.Duration(bytes) * time.Second / time.Duration(p.MinRate)
}

// pacedBody moves the read deadline on with every byte that arrives. Only the
// time spent waiting for the client counts. Outside its Read, and the writes
// of the answer, no deadline stands: under HTTP/2 one that passes ends the
// body, and once the body is read net/http takes one for the client's leaving
// and cancels the request.
type pacedBody struct {
	io.ReadCloser
	rc     *http.ResponseController
	pace   Pace
	waited time.Duration
	read   int64
	ended  bool
	late   bool      // the client has fallen behind: it gets no second chance
	until  time.Time // nothing is read after it; zero: no such end
}

// Read reads on, until the client has fallen behind.
func (b *pacedBody) Read(p []byte) (int, error) {
	start := time.Now()
	end := start.Add(min(b.pace.ReadBase+b.pace.transfer(b.read)-b.waited, b.pace.Silence))
	if !b.until.IsZero() && b.until.Before(end) {
		end = b.until
	}
	b.deadline(end)
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(start)
	b.read += int64(n)
	b.ended = b.ended || errors.Is(err, io.EOF)
	b.late = b.late || errors.Is(err, os.ErrDeadlineExceeded)
	if !b.late {
		b.deadline(time.Time{})
	}
	return n, err
}

// deadline sets what can be set: a test's recorder has no deadlines.
func (b *pacedBody) deadline(t time.Time) { _ = b.rc.SetReadDeadline(t) }

// pacedWriter gives every write its own deadline.
type pacedWriter struct {
	http.ResponseWriter
	rc       *http.ResponseController
	pace     Pace
	body     *pacedBody // nil when there is none
	hijacked bool
	streams  bool      // HTTP/2: a deadline belongs to a stream, and ends it
	armed    time.Time // when the write deadline that stands was set
	paid     int       // bytes it gives time for
	endless  bool      // the body is longer than what drop reads
}

// How much of a body is read, and for how long, after its handler has answered
// without it.
const (
	dropBytes = 16 << 20
	dropTime  = 5 * time.Second
)

// drop reads the rest of a body that its handler did not read: it was too large,
// its sender may not send it, there is no such route. Otherwise a client that
// sends everything before it reads would find the connection reset instead of
// the answer, which is still in the buffer of net/http. If the body is longer
// than what is read here, the answer is sent first. A client that waits for "100
// Continue" has sent nothing yet. Under HTTP/2 a stream ends without losing its
// answer.
func (w *pacedWriter) drop(r *http.Request) {
	b := w.body
	if b == nil || b.ended || b.late || w.streams {
		return
	}
	if b.read == 0 && r.Header["Expect"] != nil {
		return
	}
	if w.endless {
		if w.rc.EnableFullDuplex() == nil {
			_ = w.rc.Flush() // the client may have left
		}
	}
	b.until = time.Now().Add(dropTime)
	_, _ = io.CopyN(io.Discard, b, dropBytes) // the client may have left
}

// WriteHeader announces that no further request can follow a body that will not
// be read to its end.
func (w *pacedWriter) WriteHeader(status int) {
	if w.endless && !w.streams && w.body != nil && !w.body.ended {
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

// arm starts the clock for a write of n bytes, and for the rest of the body:
// net/http reads that away before it sends the header.
func (w *pacedWriter) arm(n int) {
	w.armWrite(n)
	switch {
	case w.body == nil || w.body.ended:
	case w.body.late:
		w.body.deadline(time.Now())
	default:
		w.body.deadline(time.Now().Add(w.pace.ReadBase))
	}
}

// armWrite leaves a deadline alone that was set a moment ago: most answers are
// written and sent off within one.
func (w *pacedWriter) armWrite(n int) {
	now := time.Now()
	if n <= w.paid && now.Sub(w.armed) <= w.pace.WriteBase>>8 && !w.armed.IsZero() {
		return
	}
	w.armed, w.paid = now, n
	_ = w.rc.SetWriteDeadline(now.Add(w.pace.WriteBase + w.pace.transfer(int64(n)))) // see deadline
}

// disarm removes both deadlines. Under HTTP/2 a deadline that passes ends the
// stream even when nobody is writing; under HTTP/1 it matters to writes only,
// and each has its own.
func (w *pacedWriter) disarm() {
	if w.streams {
		w.armed = time.Time{}
		_ = w.rc.SetWriteDeadline(time.Time{}) // see deadline
	}
	if w.body != nil && !w.body.ended && !w.body.late {
		w.body.deadline(time.Time{})
	}
}

// writeChunk is how much one deadline covers: with a large body in one piece,
// a client that reads nothing would be given the time of all of it.
const writeChunk = 16 << 10

// Write writes b, each piece before a deadline of its own.
func (w *pacedWriter) Write(b []byte) (int, error) {
	defer w.disarm()
	n := 0
	for {
		piece := b[n:min(len(b), n+writeChunk)]
		w.arm(len(piece))
		m, err := w.ResponseWriter.Write(piece)
		if n += m; err != nil || n == len(b) {
			return n, err
		}
	}
}

// FlushError sends what is buffered, within its deadline.
func (w *pacedWriter) FlushError() error {
	w.arm(0)
	defer w.disarm()
	return w.rc.Flush()
}

// Flush is FlushError for callers that use http.Flusher.
func (w *pacedWriter) Flush() { _ = w.FlushError() } // the next write says so too

// Hijack hands the connection over; net/http clears its deadlines.
func (w *pacedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.hijacked = true
	return w.rc.Hijack()
}

// Unwrap lets an http.ResponseController find the writer below.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
