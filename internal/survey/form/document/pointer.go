package document

// MaxRepeats is how many elements a repeat may have.
const MaxRepeats = 200

const (
	maxMissing = 100  // pointers in a LanguageReport
	maxChanges = 1000 // changes in a Difference
	maxName    = 100  // bytes of a name that a pointer repeats
)

// Escape makes a name a part of a JSON pointer. A long one is cut: pointers of
// unknown names are for people.
func Escape(name string) string {
	if len(name) > maxName {
		cut := maxName
		for cut > 0 && name[cut]&0xC0 == 0x80 {
			cut--
		}
		name = name[:cut] + "…"
	}
	out := make([]byte, 0, len(name))
	for i := range len(name) {
		switch name[i] {
		case '~':
			out = append(out, "~0"...)
		case '/':
			out = append(out, "~1"...)
		default:
			out = append(out, name[i])
		}
	}
	return string(out)
}
