package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

const limit = 100_000

type message struct {
	op   engine.Opcode
	data string
}

// part builds one masked frame of a message.
func part(op engine.Opcode, more bool, data string) []byte {
	return engine.AppendMasked(nil, op, more, [4]byte{0x11, 0xFE, 0x00, 0x73}, []byte(data))
}

func frames(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// raw changes the first byte of a frame.
func raw(first byte, frame []byte) []byte { return append([]byte{first}, frame[1:]...) }

func closing(code int, reason string) []byte {
	return part(engine.OpClose, false, string(binary.BigEndian.AppendUint16(nil, uint16(code)))+reason)
}

// readAll reads until an error, which it gives as a close code: 0 for the end
// of the input between frames, -1 for one inside.
func readAll(t *testing.T, r *engine.Reader) ([]message, int) {
	t.Helper()
	var got []message
	for {
		op, data, err := r.Next()
		var broken *engine.CloseError
		switch {
		case errors.As(err, &broken):
			return got, broken.Code
		case errors.Is(err, io.EOF):
			return got, 0
		case errors.Is(err, io.ErrUnexpectedEOF):
			return got, -1
		case err != nil:
			t.Fatalf("Next() error = %v", err)
		}
		got = append(got, message{op, string(data)})
	}
}

// TestReader goes through the cases of the Autobahn suite that a server without
// extensions meets. Long because the cases are one list.
func TestReader(t *testing.T) {
	t.Parallel()
	const text, bin = engine.OpText, engine.OpBinary
	long := strings.Repeat("*", 65_536)
	for _, tt := range []struct {
		name string
		in   []byte
		want []message
		code int
	}{
		{"1.1 empty text", part(text, false, ""), []message{{text, ""}}, 0},
		{"1.1 125", part(text, false, long[:125]), []message{{text, long[:125]}}, 0},
		{"1.1 126", part(text, false, long[:126]), []message{{text, long[:126]}}, 0},
		{"1.1 65535", part(text, false, long[:65_535]), []message{{text, long[:65_535]}}, 0},
		{"1.1 65536", part(text, false, long), []message{{text, long}}, 0},
		{"1.2 binary", part(bin, false, "\x00\xff\x80"), []message{{bin, "\x00\xff\x80"}}, 0},
		{"2.1 ping", part(engine.OpPing, false, ""), []message{{engine.OpPing, ""}}, 0},
		{"2.4 ping of 125", part(engine.OpPing, false, long[:125]), []message{{engine.OpPing, long[:125]}}, 0},
		{"2.5 ping of 126", part(engine.OpPing, false, long[:126]), nil, 1002},
		{"2.7 pong nobody asked for", part(engine.OpPong, false, "x"), []message{{engine.OpPong, "x"}}, 0},
		{"3 reserved bit", raw(0xC1, part(text, false, "x")), nil, 1002},
		{"3 reserved bit 3 after a message", frames(part(text, false, "a"), raw(0x91, part(text, false, "x"))), []message{{text, "a"}}, 1002},
		{"4.1 opcode 3", part(3, false, "x"), nil, 1002},
		{"4.1 opcode 7", part(7, false, ""), nil, 1002},
		{"4.2 opcode 11", part(11, false, ""), nil, 1002},
		{"4.2 opcode 15", part(15, false, ""), nil, 1002},
		{"5.1 ping in parts", part(engine.OpPing, true, "x"), nil, 1002},
		{"5.3 text in parts", frames(part(text, true, "ab"), part(0, false, "cd")), []message{{text, "abcd"}}, 0},
		{
			"5.6 ping between parts", frames(part(text, true, "ab"), part(engine.OpPing, false, "p"), part(0, false, "cd")),
			[]message{{engine.OpPing, "p"}, {text, "abcd"}},
			0,
		},
		{"5.8 many parts, some empty", frames(part(bin, true, ""), part(0, true, "a"), part(0, true, ""), part(0, false, "")), []message{{bin, "a"}}, 0},
		{"5.9 continuation of nothing", part(0, false, "x"), nil, 1002},
		{"5.11 continuation after a whole message", frames(part(text, false, "a"), part(0, true, "x")), []message{{text, "a"}}, 1002},
		{"5.15 message inside a message", frames(part(text, true, "ab"), part(text, false, "cd")), nil, 1002},
		{"6.1 empty parts", frames(part(text, true, ""), part(0, true, ""), part(0, false, "")), []message{{text, ""}}, 0},
		{"6.2 a rune in two parts", frames(part(text, true, "\xce"), part(0, false, "\xba")), []message{{text, "κ"}}, 0},
		{"6.3 not UTF-8", part(text, false, "\xce\xba\xed\xa0\x80"), nil, 1007},
		{"6.4 not UTF-8 in parts", frames(part(text, true, "\xce\xba\xf4"), part(0, false, "\x90\x80\x80")), nil, 1007},
		{"6.6 half a rune at the end", part(text, false, "\xce"), nil, 1007},
		{"6.20 not a character but valid", part(text, false, "\xef\xbf\xbf"), []message{{text, "\uffff"}}, 0},
		{"7.1 close", part(engine.OpClose, false, ""), []message{{engine.OpClose, ""}}, 0},
		{"7.3 close of one byte", part(engine.OpClose, false, "\x03"), nil, 1002},
		{"7.3 close 1000", closing(1000, ""), []message{{engine.OpClose, "\x03\xe8"}}, 0},
		{"7.3 longest reason", closing(1000, long[:123]), []message{{engine.OpClose, "\x03\xe8" + long[:123]}}, 0},
		{"7.3 too long a reason", closing(1000, long[:124]), nil, 1002},
		{"7.5 reason not UTF-8", closing(1000, "\xce"), nil, 1007},
		{"9 over the limit", part(bin, false, long+long), nil, 1009},
		{"9 over the limit in parts", frames(part(bin, true, long), part(0, false, long)), nil, 1009},
		{"unmasked", engine.Frame(text, []byte("x")), nil, 1002},
		{"length with the sign bit", []byte{0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, nil, 1002},
		{"huge length", []byte{0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}, nil, 1009},
		{"nothing", nil, nil, 0},
		{"half a header", []byte{0x81}, nil, -1},
		{"no key", []byte{0x81, 0x81, 1, 2}, nil, -1},
		{"no length", []byte{0x81, 0xFE, 1}, nil, -1},
		{"half a payload", part(text, false, long[:5000])[:3000], nil, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := func(how string, r *engine.Reader) {
				got, code := readAll(t, r)
				if code != tt.code {
					t.Errorf("%s: end = %d, want %d", how, code, tt.code)
				}
				if len(got) != len(tt.want) {
					t.Fatalf("%s: got %d messages, want %d", how, len(got), len(tt.want))
				}
				for i := range got {
					if got[i] != tt.want[i] {
						t.Errorf("%s: message %d = %.40q, want %.40q", how, i, got[i], tt.want[i])
					}
				}
			}
			check("at once", engine.NewReader(bytes.NewReader(tt.in), nil, limit))
			check("byte by byte", engine.NewReader(iotest.OneByteReader(bytes.NewReader(tt.in)), nil, limit))
			check("read before", engine.NewReader(bytes.NewReader(nil), tt.in, limit))
		})
	}
}

func TestReaderCloseCodes(t *testing.T) {
	t.Parallel()
	good := map[int]bool{1000: true, 1001: true, 1002: true, 1003: true, 1007: true, 1011: true, 1014: true, 3000: true, 3999: true, 4000: true, 4999: true}
	for _, code := range []int{0, 999, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1011, 1014, 1015, 1016, 1100, 2000, 2999, 3000, 3999, 4000, 4999, 5000, 65535} {
		op, _, err := engine.NewReader(bytes.NewReader(closing(code, "bye")), nil, limit).Next()
		if ok := err == nil && op == engine.OpClose; ok != good[code] {
			t.Errorf("close code %d accepted = %v, want %v", code, ok, good[code])
		}
	}
}

func TestReaderDoesNotTrustLengths(t *testing.T) {
	head := part(engine.OpBinary, false, strings.Repeat("x", 90_000))[:20]
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = engine.NewReader(bytes.NewReader(head), nil, limit).Next()
		}
	}).AllocedBytesPerOp()
	if got > 8<<10 {
		t.Errorf("a frame that promises 90,000 bytes and brings 6 costs %d bytes, want at most 8 KiB", got)
	}
}

func TestReaderTinyParts(t *testing.T) {
	t.Parallel()
	in := part(engine.OpBinary, true, "a")
	for range 50_000 {
		in = append(in, part(engine.OpContinuation, true, "b")...)
	}
	in = append(in, part(engine.OpContinuation, false, "c")...)
	_, data, err := engine.NewReader(bytes.NewReader(in), nil, limit).Next()
	if err != nil || len(data) != 50_002 {
		t.Errorf("Next() = %d bytes, %v, want 50,002", len(data), err)
	}
}

func TestClientReader(t *testing.T) {
	t.Parallel()
	_, data, err := engine.NewClientReader(bytes.NewReader(engine.Frame(engine.OpText, []byte("hi"))), nil, limit).Next()
	if err != nil || string(data) != "hi" {
		t.Errorf("Next() = %q, %v, want hi", data, err)
	}
	_, _, err = engine.NewClientReader(bytes.NewReader(part(engine.OpText, false, "hi")), nil, limit).Next()
	var broken *engine.CloseError
	if !errors.As(err, &broken) || broken.Code != engine.StatusProtocol {
		t.Errorf("Next() of a masked frame = %v, want code 1002", err)
	}
}

func TestCloseFrameFits(t *testing.T) {
	t.Parallel()
	frame := engine.CloseFrame(engine.StatusPolicy, strings.Repeat("é", 100))
	op, data, err := engine.NewClientReader(bytes.NewReader(frame), nil, limit).Next()
	if err != nil || op != engine.OpClose || string(data) != "\x03\xf0"+strings.Repeat("é", 61) {
		t.Errorf("Next() = %v %q %v, want the reason cut at a rune", op, data, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(frames(part(engine.OpText, true, "ab"), part(engine.OpPing, false, "p"), part(0, false, "cd"), closing(1000, "x")))
	f.Add(part(engine.OpBinary, false, strings.Repeat("x", 70_000)))
	f.Add([]byte{0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, code := readAll(t, engine.NewReader(bytes.NewReader(in), nil, limit))
		slow, again := readAll(t, engine.NewReader(iotest.HalfReader(bytes.NewReader(in)), nil, limit))
		if code != again || len(whole) != len(slow) {
			t.Errorf("%d messages and code %d, in halves %d and %d", len(whole), code, len(slow), again)
		}
		for _, m := range whole {
			if len(m.data) > limit {
				t.Errorf("a message of %d bytes, limit %d", len(m.data), limit)
			}
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add([]byte("hello, this is more than eight bytes"), uint32(0x01020304))
	f.Fuzz(func(t *testing.T, data []byte, key uint32) {
		if len(data) > limit {
			return
		}
		frame := engine.AppendMasked(nil, engine.OpBinary, false, [4]byte(binary.BigEndian.AppendUint32(nil, key)), data)
		_, got, err := engine.NewReader(bytes.NewReader(frame), nil, limit).Next()
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("Next() = %x, %v, want %x", got, err, data)
		}
	})
}

// Wait returns when there is something for Next, and takes nothing of it, even
// if it comes in the same read as the end.
func TestWait(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]io.Reader{
		"all at once":  bytes.NewReader(frames(part(engine.OpText, false, "a"), part(engine.OpBinary, false, "b"))),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(frames(part(engine.OpText, false, "a"), part(engine.OpBinary, false, "b")))),
		"with its end": iotest.DataErrReader(bytes.NewReader(frames(part(engine.OpText, false, "a"), part(engine.OpBinary, false, "b")))),
		"in halves":    iotest.HalfReader(bytes.NewReader(frames(part(engine.OpText, false, "a"), part(engine.OpBinary, false, "b")))),
	} {
		r := engine.NewReader(src, nil, limit)
		for _, want := range []message{{engine.OpText, "a"}, {engine.OpBinary, "b"}} {
			if err := r.Wait(); err != nil || !r.Waiting() {
				t.Fatalf("%s: Wait() = %v, Waiting() = %v before %v", name, err, r.Waiting(), want)
			}
			if op, data, err := r.Next(); err != nil || (message{op, string(data)}) != want {
				t.Errorf("%s: Next() = %v %q, %v; want %v", name, op, data, err, want)
			}
		}
		if err := r.Wait(); !errors.Is(err, io.EOF) || r.Waiting() {
			t.Errorf("%s: Wait() = %v at the end, want %v", name, err, io.EOF)
		}
	}
}
