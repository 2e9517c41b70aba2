package form

import "github.com/hearth-dmrv/hearth/internal/cel"

// AddText puts a kind whose answers are texts into the table; want says what a
// text must be. Call it before anything reads the table.
func AddText(k Kind, want func(string) string) {
	k.CEL, k.read, k.want, k.value, k.Parse = cel.Text, (*answering).string, want, written, parseText
	kinds[k.Type] = &k
}
