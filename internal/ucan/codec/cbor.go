package codec

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Major types of CBOR.
const (
	uintMajor = iota
	negativeMajor
	bytesMajor
	textMajor
	listMajor
	mapMajor
	tagMajor
	simpleMajor
)

// Heads of single values.
const (
	falseHead = 0xf4
	trueHead  = 0xf5
	nullHead  = 0xf6
	floatHead = 0xfb
	linkTag   = 42
)

// roomAhead is how many items are made room for before they are seen. A head
// may promise any number; memory follows what really comes.
const roomAhead = 8

// DecodeCBOR reads one dag-cbor value that fills b.
func DecodeCBOR(b []byte) (any, error) {
	d := decoder{b}
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if len(d.rest) > 0 {
		return nil, bad("data after the value")
	}
	return v, nil
}

type decoder struct{ rest []byte }

// head reads the first byte of an item and its number in the shortest form.
func (d *decoder) head() (major byte, n uint64, err error) {
	if len(d.rest) == 0 {
		return 0, 0, bad("cut short")
	}
	first := d.rest[0]
	major, info := first>>5, first&31
	d.rest = d.rest[1:]
	if info < 24 {
		return major, uint64(info), nil
	}
	if info > 27 {
		return 0, 0, bad("indefinite length")
	}
	size := 1 << (info - 24)
	if len(d.rest) < size {
		return 0, 0, bad("cut short")
	}
	for _, c := range d.rest[:size] {
		n = n<<8 | uint64(c)
	}
	d.rest = d.rest[size:]
	if n < 24 || size > 1 && n>>(8*size/2) == 0 {
		return 0, 0, bad("number longer than needed")
	}
	return major, n, nil
}

func (d *decoder) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, bad("nested too deep")
	}
	if len(d.rest) > 0 && d.rest[0]>>5 == simpleMajor {
		return d.simple()
	}
	major, n, err := d.head()
	if err != nil {
		return nil, err
	}
	switch major {
	case uintMajor:
		if n > math.MaxInt64 {
			return n, nil
		}
		return int64(n), nil
	case negativeMajor:
		if n > math.MaxInt64 {
			return nil, bad("number out of range")
		}
		return -1 - int64(n), nil
	case bytesMajor:
		return d.take(n)
	case textMajor:
		return d.text(n)
	case listMajor:
		return d.list(n, depth)
	case mapMajor:
		return d.members(n, depth)
	}
	return d.link(n)
}

func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.rest)) {
		return nil, bad("cut short")
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b, nil
}

func (d *decoder) text(n uint64) (string, error) {
	b, err := d.take(n)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", bad("text is not UTF-8")
	}
	return string(b), nil
}

func (d *decoder) list(n uint64, depth int) (any, error) {
	if n > uint64(len(d.rest)) {
		return nil, bad("cut short")
	}
	out := make([]any, 0, min(n, roomAhead))
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (d *decoder) members(n uint64, depth int) (any, error) {
	if n > uint64(len(d.rest))/2 {
		return nil, bad("cut short")
	}
	out := make(Map, 0, min(n, roomAhead))
	for i := range n {
		major, size, err := d.head()
		if err != nil {
			return nil, err
		}
		if major != textMajor {
			return nil, bad("key is not text")
		}
		key, err := d.text(size)
		if err != nil {
			return nil, err
		}
		if i > 0 && byLength(out[i-1].Key, key) >= 0 {
			return nil, bad("keys out of order")
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{key, v})
	}
	return out, nil
}

// link reads what follows a tag: only links to blocks have one.
func (d *decoder) link(tag uint64) (any, error) {
	if tag != linkTag {
		return nil, bad("unknown tag")
	}
	major, n, err := d.head()
	if err != nil {
		return nil, err
	}
	b, err := d.take(n)
	if err != nil {
		return nil, err
	}
	if major != bytesMajor || len(b) == 0 || b[0] != 0 {
		return nil, bad("link")
	}
	c, rest, err := cutCID(b[1:])
	if err != nil || len(rest) > 0 {
		return nil, bad("link")
	}
	return c, nil
}

func (d *decoder) simple() (any, error) {
	head := d.rest[0]
	d.rest = d.rest[1:]
	switch head {
	case falseHead:
		return false, nil
	case trueHead:
		return true, nil
	case nullHead:
		return nil, nil
	case floatHead:
		b, err := d.take(8)
		if err != nil {
			return nil, err
		}
		return wholeIsInteger(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return nil, bad("simple value")
}

// wholeIsInteger refuses floats that JavaScript would have written as
// integers: both spellings are signed alike, so one token would have two CIDs.
func wholeIsInteger(f float64) (any, error) {
	v, err := fromFloat(f)
	if _, ok := v.(float64); err == nil && !ok {
		return nil, bad("whole number as a float")
	}
	return v, err
}

// EncodeCBOR writes v as dag-cbor. It returns an error for anything that is not
// a value of this package; use From first.
func EncodeCBOR(v any) ([]byte, error) { return appendCBOR(nil, v) }

func appendCBOR(b []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		return append(b, nullHead), nil
	case bool:
		if x {
			return append(b, trueHead), nil
		}
		return append(b, falseHead), nil
	case int64:
		if x < 0 {
			return appendHead(b, negativeMajor, uint64(-1-x)), nil
		}
		return appendHead(b, uintMajor, uint64(x)), nil
	case uint64:
		return appendHead(b, uintMajor, x), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(b, floatHead), math.Float64bits(x)), nil
	case string:
		if !utf8.ValidString(x) {
			return nil, bad("text is not UTF-8")
		}
		return append(appendHead(b, textMajor, uint64(len(x))), x...), nil
	case []byte:
		return append(appendHead(b, bytesMajor, uint64(len(x))), x...), nil
	case CID:
		b = appendHead(appendHead(b, tagMajor, linkTag), bytesMajor, uint64(len(x)+1))
		return append(append(b, 0), x...), nil
	}
	return appendNested(b, v)
}

func appendNested(b []byte, v any) (_ []byte, err error) {
	switch x := v.(type) {
	case []any:
		b = appendHead(b, listMajor, uint64(len(x)))
		for i := range x {
			if b, err = appendCBOR(b, x[i]); err != nil {
				return nil, err
			}
		}
		return b, nil
	case Map:
		b = appendHead(b, mapMajor, uint64(len(x)))
		for i := range x {
			if b, err = appendCBOR(b, x[i].Key); err != nil {
				return nil, err
			}
			if b, err = appendCBOR(b, x[i].Value); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return nil, bad("no value of dag-cbor")
}

func appendHead(b []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}
