package once

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the table of stored answers can hold about a person.
func Personal() []privacy.Table {
	return []privacy.Table{{Name: "idem", Rules: []privacy.Rule{
		privacy.Erased(privacy.Copies, "answer"), privacy.None(privacy.Ours, "ws key_hash request_hash"),
	}}}
}
