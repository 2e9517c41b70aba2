package file

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the tables of files can hold about a person.
func Personal() []privacy.Table {
	return []privacy.Table{
		{Name: "transfer_files", Rules: []privacy.Rule{privacy.None(privacy.Ours, "id ws kind job sha256")}},
		{Name: "transfer_pieces", Rules: []privacy.Rule{privacy.Erased(privacy.Copies, "data"), privacy.None(privacy.Ours, "file")}},
	}
}
