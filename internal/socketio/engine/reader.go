package engine

import (
	"encoding/binary"
	"io"
	"unicode/utf8"
)

const (
	// readBuffer holds headers and small frames. It lives as long as the
	// connection, so it is small; large payloads are read past it.
	readBuffer = 1024
	// firstChunk is how much is allocated for a payload before any of it has
	// arrived. A header that promises a megabyte costs its sender a megabyte.
	firstChunk = 4096
)

// Reader reads the messages of one websocket. It is for one goroutine.
type Reader struct {
	src    io.Reader
	buf    []byte // bytes read and not yet used: buf[r:w]
	r, w   int
	limit  int
	masked bool // whether frames must be masked: true on a server

	message  Opcode // of the fragmented message under way, or 0
	gathered []byte // its payload so far
}

// NewReader makes the reader of a server. begin holds bytes that were read
// already, and limit is the maximum size of a message in bytes.
func NewReader(src io.Reader, begin []byte, limit int) *Reader {
	r := &Reader{src: src, buf: make([]byte, max(readBuffer, len(begin))), limit: limit, masked: true}
	r.w = copy(r.buf, begin)
	return r
}

// NewClientReader makes the reader of a client, which expects unmasked frames.
func NewClientReader(src io.Reader, begin []byte, limit int) *Reader {
	r := NewReader(src, begin, limit)
	r.masked = false
	return r
}

// Waiting reports whether there are bytes that Next has not used.
func (r *Reader) Waiting() bool { return r.r < r.w }

// Wait waits until there are some. It needs less stack than Next.
func (r *Reader) Wait() (err error) {
	for !r.Waiting() && err == nil {
		r.r = 0
		r.w, err = r.src.Read(r.buf)
	}
	if r.Waiting() {
		return nil // an error comes again
	}
	return err
}

// Next reads one message, joined from its fragments, or one control frame. The
// payload belongs to the caller. A violation of the protocol or the limit is a
// *CloseError with the code to answer; a Close frame is returned as Close with
// its checked payload.
func (r *Reader) Next() (Opcode, []byte, error) {
	for {
		h, err := r.header()
		if err != nil {
			return 0, nil, err
		}
		if h.op >= OpClose {
			payload, err := r.payload(nil, h)
			if err == nil && h.op == OpClose {
				_, err = checkClose(payload)
			}
			return h.op, payload, err
		}
		if err := r.begin(h); err != nil {
			return 0, nil, err
		}
		r.gathered, err = r.payload(r.gathered, h)
		if err != nil {
			return 0, nil, err
		}
		if !h.fin {
			continue
		}
		op, payload := r.message, r.gathered
		r.message, r.gathered = 0, nil
		if op == OpText && !utf8.Valid(payload) {
			return 0, nil, &CloseError{Code: StatusInvalid, Reason: "text that is not UTF-8"}
		}
		return op, payload, nil
	}
}

// begin checks that a data frame may come now and fits the limit.
func (r *Reader) begin(h header) error {
	switch {
	case h.op == OpContinuation && r.message == 0:
		return &CloseError{Code: StatusProtocol, Reason: "a continuation of nothing"}
	case h.op != OpContinuation && r.message != 0:
		return &CloseError{Code: StatusProtocol, Reason: "a message inside a message"}
	case h.size > uint64(r.limit-len(r.gathered)):
		return &CloseError{Code: StatusTooBig, Reason: "the message is over the limit"}
	}
	if h.op != OpContinuation {
		r.message = h.op
	}
	return nil
}

type header struct {
	fin  bool
	op   Opcode
	size uint64
	key  [4]byte
}

func (r *Reader) header() (header, error) {
	b, err := r.take(2)
	if err != nil {
		return header{}, err
	}
	first, second := b[0], b[1]
	h := header{fin: first&finBit != 0, op: Opcode(first & 0x0F), size: uint64(second &^ maskBit)}
	if err := r.checkHeader(h, first, second); err != nil {
		return h, err
	}
	switch h.size {
	case 126:
		if b, err = r.take(2); err != nil {
			return h, unexpected(err)
		}
		h.size = uint64(binary.BigEndian.Uint16(b))
	case 127:
		if b, err = r.take(8); err != nil {
			return h, unexpected(err)
		}
		if h.size = binary.BigEndian.Uint64(b); h.size>>63 != 0 {
			return h, &CloseError{Code: StatusProtocol, Reason: "a length with its first bit set"}
		}
	}
	if r.masked {
		if b, err = r.take(4); err != nil {
			return h, unexpected(err)
		}
		copy(h.key[:], b)
	}
	return h, nil
}

func (r *Reader) checkHeader(h header, first, second byte) error {
	known := h.op <= OpBinary || h.op >= OpClose && h.op <= OpPong
	switch {
	case first&rsvBits != 0:
		return &CloseError{Code: StatusProtocol, Reason: "a reserved bit is set"}
	case !known:
		return &CloseError{Code: StatusProtocol, Reason: "an unknown opcode"}
	case h.op >= OpClose && (!h.fin || h.size > MaxControl):
		return &CloseError{Code: StatusProtocol, Reason: "a control frame that is long or in parts"}
	case (second&maskBit != 0) != r.masked:
		return &CloseError{Code: StatusProtocol, Reason: "frames of clients are masked, those of servers are not"}
	}
	return nil
}

// payload appends the payload of a frame to dst and unmasks it. Memory grows
// with what has arrived, not with what the header promised, and doubles, so that
// a message in many fragments is not copied for each.
func (r *Reader) payload(dst []byte, h header) ([]byte, error) {
	left := int(h.size)
	for pos, chunk := 0, firstChunk; left > 0; chunk *= 2 {
		n := min(left, chunk)
		start := len(dst)
		if cap(dst)-start < n {
			grown := make([]byte, start, max(start+n, min(2*start, r.limit)))
			copy(grown, dst)
			dst = grown
		}
		dst = dst[:start+n]
		if err := r.fill(dst[start:]); err != nil {
			return nil, unexpected(err)
		}
		if r.masked {
			mask(dst[start:], h.key, pos)
		}
		pos += n
		left -= n
	}
	return dst, nil
}

// fill reads len(p) bytes: from the buffer, then small rests through it and
// large ones past it.
func (r *Reader) fill(p []byte) error {
	n := copy(p, r.buf[r.r:r.w])
	r.r += n
	p = p[n:]
	if len(p) == 0 {
		return nil
	}
	if len(p) >= len(r.buf) {
		_, err := io.ReadFull(r.src, p)
		return err
	}
	b, err := r.take(len(p))
	copy(p, b)
	return err
}

// take gives the next n bytes, n at most readBuffer. They are valid until the
// next call.
func (r *Reader) take(n int) ([]byte, error) {
	if r.w-r.r < n {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
		had := r.w
		got, err := io.ReadAtLeast(r.src, r.buf[had:], n-had)
		r.w += got
		if err != nil && had > 0 {
			return nil, unexpected(err)
		} else if err != nil {
			return nil, err
		}
	}
	b := r.buf[r.r : r.r+n]
	r.r += n
	return b, nil
}

// unexpected distinguishes an end inside a frame from one between frames.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
