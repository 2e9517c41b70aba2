package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"io"
	"slices"
	"strconv"
	"strings"
)

// inStep is how many bytes are read for one step.
const inStep = 64

// work bounds what a file may cost.
type work struct {
	over   func() error // why to stop; nil: no reason
	steps  int          // that may still be taken: values, or bytes by the dozen
	unpack int          // bytes of streams that may still be read
	taken  int
	short  bool // there was not enough
}

// step takes a step. It returns false when there are none left.
func (w *work) step() bool {
	w.steps--
	if w.taken++; w.taken%1024 == 0 && w.over() != nil {
		w.steps = -1
	}
	if w.steps < 0 {
		w.short = true
	}
	return w.steps >= 0
}

// spend takes the steps for so many bytes.
func (w *work) spend(bytes int) { w.steps -= bytes / inStep }

// headBytes is where the type of an object stands that has to be known before others.
const headBytes = 256

// place is where an object begins: in the file, or in an object stream.
type place struct {
	in []byte
	at int
}

// file is a PDF. Its objects are found by looking for them, not by the table that says
// where they are: that one is often wrong, and may be meant to be.
type file struct {
	in      []byte
	work    *work
	places  map[ref]place
	objects map[ref]any
	root    any
	sealed  bool
}

func open(raw []byte, w *work) *file {
	f := &file{in: raw, work: w, places: map[ref]place{}, objects: map[ref]any{}}
	f.find()
	f.trailers()
	return f
}

// find looks for objects. If one is defined again, each definition counts where
// it is.
func (f *file) find() {
	for at := 0; f.work.step(); {
		i := bytes.Index(f.in[at:], []byte("obj"))
		if i < 0 {
			return
		}
		at += i + len("obj")
		id, ok := idBefore(f.in[:at-len("obj")])
		if !ok {
			continue
		}
		f.places[id] = place{f.in, at}
		head := f.in[at:min(at+headBytes, len(f.in))]
		f.work.spend(headBytes)
		switch {
		case bytes.Contains(head, []byte("ObjStm")):
			f.packed(place{f.in, at})
		case bytes.Contains(head, []byte("XRef")):
			if s, ok := f.parse(place{f.in, at}).(*stream); ok {
				f.trailer(s.head)
			}
		}
	}
}

// idBefore reads the number of an object backwards from its keyword.
func idBefore(in []byte) (ref, bool) {
	i := len(in)
	digits := func() (string, bool) {
		from := i
		for i > 0 && isSpace(in[i-1]) {
			i--
		}
		end := i
		for i > 0 && end-i < 10 && in[i-1] >= '0' && in[i-1] <= '9' {
			i--
		}
		return string(in[i:end]), end < from && i < end
	}
	if _, ok := digits(); !ok {
		return 0, false
	}
	text, ok := digits()
	id, err := strconv.Atoi(text)
	return ref(id), ok && err == nil
}

// packed finds the objects of an object stream.
func (f *file) packed(at place) {
	s, ok := f.parse(at).(*stream)
	if !ok || s.head["Type"] != name("ObjStm") {
		return
	}
	first, _ := s.head["First"].(float64)
	data := f.unpack(s)
	if first < 0 || int(first) > len(data) {
		return
	}
	table := scanner{in: data[:int(first)], work: f.work}
	for {
		id, ok := table.value(0)
		offset, also := table.value(0)
		if !ok || !also {
			return
		}
		n, isNumber := id.(float64)
		o, alsoNumber := offset.(float64)
		if isNumber && alsoNumber && n >= 0 && o >= 0 && int(o) < len(data)-int(first) {
			f.places[ref(n)] = place{data, int(first) + int(o)}
		}
	}
}

// trailers reads what the file says about itself at its end.
func (f *file) trailers() {
	for at := 0; ; {
		i := bytes.Index(f.in[at:], []byte("trailer"))
		if i < 0 || !f.work.step() {
			break
		}
		at += i + len("trailer")
		s := scanner{in: f.in, at: at, work: f.work}
		if v, ok := s.value(0); ok {
			if d, ok := v.(dict); ok {
				f.trailer(d)
			}
		}
	}
	if f.root != nil {
		return
	}
	for _, id := range f.ids() { // a file that was cut
		if !f.work.step() {
			return
		}
		if d, ok := f.get(ref(id)).(dict); ok && d["Type"] == name("Catalog") {
			f.root = d
		}
	}
}

// ids are the numbers of all objects, in their order.
func (f *file) ids() []int {
	var out []int
	for id := range f.places {
		out = append(out, int(id))
	}
	slices.Sort(out)
	return out
}

func (f *file) trailer(d dict) {
	if d["Root"] != nil {
		f.root = d["Root"]
	}
	if d["Encrypt"] != nil {
		f.sealed = true
	}
}

// get follows a reference.
func (f *file) get(v any) any {
	for range 8 {
		id, ok := v.(ref)
		if !ok {
			return v
		}
		known, ok := f.objects[id]
		if !ok {
			f.objects[id] = nil // one that needs itself gets nothing
			known = f.parse(f.places[id])
			f.objects[id] = known
		}
		v = known
	}
	return nil
}

// dict is a value as a dictionary; that of a stream is its head.
func (f *file) dict(v any) dict {
	switch v := f.get(v).(type) {
	case dict:
		return v
	case *stream:
		return v.head
	}
	return nil
}

// list is a value as an array; a single value is an array of one.
func (f *file) list(v any) array {
	switch v := f.get(v).(type) {
	case array:
		return v
	case nil:
		return nil
	default:
		return array{v}
	}
}

func (f *file) number(v any) float64 {
	n, _ := f.get(v).(float64)
	return n
}

// parse reads an object.
func (f *file) parse(p place) any {
	s := scanner{in: p.in, at: p.at, work: f.work}
	v, _ := s.value(0)
	head, ok := v.(dict)
	if !ok {
		return v
	}
	s.skip()
	if !bytes.HasPrefix(s.in[s.at:], []byte("stream")) {
		return v
	}
	s.at += len("stream")
	if s.at < len(s.in) && s.in[s.at] == '\r' {
		s.at++
	}
	if s.at < len(s.in) && s.in[s.at] == '\n' {
		s.at++
	}
	return &stream{head, f.body(s.in[s.at:], head)}
}

// body is what a stream holds. Its length is often wrong; where it ends is not.
func (f *file) body(rest []byte, head dict) []byte {
	end := []byte("endstream")
	if n := f.number(head["Length"]); n > 0 && n <= float64(len(rest)) {
		after := scanner{in: rest[int(n):min(int(n)+32, len(rest))], work: f.work}
		after.skip()
		if bytes.HasPrefix(after.in[after.at:], end) {
			return rest[:int(n)]
		}
	}
	if i := bytes.Index(rest, end); i >= 0 {
		rest = rest[:i]
	}
	f.work.spend(len(rest))
	return rest
}

// unpack undoes the filters of a stream, as far as the work allows. A filter that is
// not for text gives nothing.
func (f *file) unpack(s *stream) []byte {
	out := f.limit(s.raw)
	for _, each := range f.list(s.head["Filter"]) {
		var in io.Reader
		switch f.get(each) {
		case name("FlateDecode"), name("Fl"):
			z, err := zlib.NewReader(bytes.NewReader(out))
			if err != nil {
				return nil
			}
			in = z
		case name("ASCII85Decode"), name("A85"):
			out, _, _ = bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(out), []byte("<~")), []byte("~"))
			in = ascii85.NewDecoder(bytes.NewReader(out))
		case name("ASCIIHexDecode"), name("AHx"):
			h := scanner{in: out, work: f.work}
			in = strings.NewReader(h.hex())
		default:
			return nil
		}
		got, _ := io.ReadAll(io.LimitReader(in, int64(f.work.unpack)+1)) // what there is before an error counts
		out = f.limit(got)
	}
	if f.number(f.dict(s.head["DecodeParms"])["Predictor"]) > 1 {
		return nil
	}
	return out
}

// limit is so much of bytes as may still be read.
func (f *file) limit(raw []byte) []byte {
	if len(raw) > f.work.unpack {
		raw, f.work.short = raw[:f.work.unpack], true
	}
	f.work.unpack -= len(raw)
	f.work.spend(len(raw))
	return raw
}
