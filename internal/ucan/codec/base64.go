package codec

// Values of letters in a base64 text that are no digits.
const (
	notDigit = 0xff
	space    = 0xfe
	padding  = 0xfd
)

// digits takes both alphabets, because clients send both and mix them.
var digits = func() (t [256]byte) {
	for i := range t {
		t[i] = notDigit
	}
	for i := range byte(26) {
		t['A'+i], t['a'+i] = i, 26+i
	}
	for i := range byte(10) {
		t['0'+i] = 52 + i
	}
	t['+'], t['-'], t['/'], t['_'] = 62, 62, 63, 63
	t[' '], t['\t'], t['\r'], t['\n'] = space, space, space, space
	t['='] = padding
	return t
}()

// DecodeText reads base64 in the spellings that Node accepts and clients send:
// the standard and the URL alphabet, with or without padding, with line breaks
// and blanks anywhere. Other characters, and leftover bits, are errors.
func DecodeText(text string) ([]byte, error) {
	out := make([]byte, 0, len(text)/4*3+3)
	var acc uint32
	bits, count, pads := 0, 0, 0
	for i := range len(text) {
		d := digits[text[i]]
		switch {
		case d == space:
			continue
		case d == padding:
			pads++
			continue
		case d == notDigit || pads > 0:
			return nil, bad("base64")
		}
		count++
		acc, bits = acc<<6|uint32(d), bits+6
		if bits >= 8 {
			bits -= 8
			out = append(out, byte(acc>>bits))
			acc &= 1<<bits - 1
		}
	}
	if count%4 == 1 || acc != 0 || pads > 2 || pads > 0 && (count+pads)%4 != 0 {
		return nil, bad("base64")
	}
	return out, nil
}
