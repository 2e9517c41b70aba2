package oracle_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"sync"
)

// syncBuffer keeps a log that many write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to the log.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String is the log so far.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *syncBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func newBuffered(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }
