package client

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func frames(r io.Reader) ([]frame, error) {
	d := newDecoder(r)
	var out []frame
	for {
		f, err := d.next()
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
}

func TestDecoder(t *testing.T) {
	t.Parallel()
	one := frame{id: "1", hasID: true, event: "key.created", data: `{"a":1}`}
	for name, tt := range map[string]struct {
		in   string
		want []frame
	}{
		"empty":               {"", nil},
		"one":                 {"id: 1\nevent: key.created\ndata: {\"a\":1}\n\n", []frame{one}},
		"CRLF":                {"id: 1\r\nevent: key.created\r\ndata: {\"a\":1}\r\n\r\n", []frame{one}},
		"CR":                  {"id: 1\revent: key.created\rdata: {\"a\":1}\r\r", []frame{one}},
		"byte order mark":     {"\ufeffid: 1\nevent: key.created\ndata: {\"a\":1}\n\n", []frame{one}},
		"no space":            {"id:1\nevent:key.created\ndata:{\"a\":1}\n\n", []frame{one}},
		"cut off":             {"id: 1\nevent: key.created\ndata: {\"a\":1}\n", nil},
		"comment":             {": heartbeat\n\n", nil},
		"heartbeat with id":   {": heartbeat\nid: 7\n\n", []frame{{id: "7", hasID: true}}},
		"several data":        {"data: a\ndata\ndata:  b\n\n", []frame{{data: "a\n\n b"}}},
		"retry":               {"retry: 2000\n\n", []frame{{retry: 2 * time.Second}}},
		"bad retry":           {"retry: -1\nretry: x\n\n", nil},
		"id with NUL":         {"id: a\x00b\ndata: x\n\n", []frame{{data: "x"}}},
		"unknown field":       {"foo: bar\ndata: x\n\n", []frame{{data: "x"}}},
		"event without data":  {"event: x\n\ndata: y\n\n", []frame{{data: "y"}}},
		"not UTF-8":           {"data: \xff\n\n", []frame{{data: "\uFFFD"}}},
		"two, blank lines":    {"\n\ndata: a\n\n\n\ndata: b\n\n", []frame{{data: "a"}, {data: "b"}}},
		"field name and more": {"datax: a\ndata : b\n\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := frames(strings.NewReader(tt.in))
			if err != io.EOF {
				t.Errorf("error = %v, want EOF", err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(frame{})); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecoderDoesNotWait feeds a frame that ends with CR and then nothing: the
// frame must come out before the next byte does.
func TestDecoderDoesNotWait(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = w.Write([]byte("data: x\r\n\r")) }()
	f, err := newDecoder(r).next()
	if err != nil || f.data != "x" {
		t.Errorf("next() = %+v, %v, want data x", f, err)
	}
}

func TestDecoderIsBounded(t *testing.T) {
	t.Parallel()
	long := "data: " + strings.Repeat("x", maxFrame) + "\n\n"
	many := strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 1100) + "\n"
	for name, in := range map[string]string{"line": long, "frame": many} {
		if _, err := frames(strings.NewReader(in)); err != errFrame {
			t.Errorf("a long %s gave %v, want %v", name, err, errFrame)
		}
	}
}

// FuzzDecoder reads anything whole and byte by byte: it must not panic, must
// find the same frames, and no field may hold a line break the wire cannot.
func FuzzDecoder(f *testing.F) {
	for _, seed := range []string{
		"id: 1\nevent: a.b\ndata: {}\n\n", "retry: 5\r\rdata\r\n\n", "\ufeff: c\nid: 3\n\n", "data: a\ndata: b\n\nevent: close\ndata: {}\n\n", "\r\n\r\r\n", "id\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := frames(strings.NewReader(in))
		bytewise, err2 := frames(iotest.OneByteReader(strings.NewReader(in)))
		if err != err2 {
			t.Fatalf("whole ended with %v, byte by byte with %v", err, err2)
		}
		if diff := cmp.Diff(whole, bytewise, cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatalf("whole and byte by byte differ:\n%s", diff)
		}
		for _, fr := range whole {
			if strings.ContainsAny(fr.id+fr.event, "\r\n\x00") && !strings.Contains(fr.event, "\x00") || strings.Contains(fr.data, "\r") {
				t.Errorf("frame %+v holds a line break", fr)
			}
			if fr.retry < 0 || len(fr.data) > maxFrame {
				t.Errorf("frame %+v is out of bounds", fr)
			}
		}
	})
}
