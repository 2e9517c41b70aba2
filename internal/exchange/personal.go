package exchange

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the tables of orders can hold about a person.
func Personal() []privacy.Table {
	return []privacy.Table{
		{Name: "transfers", Rules: []privacy.Rule{privacy.None(privacy.Ours, "job ws kind file counts"), privacy.Erased(privacy.Copies, "settings")}},
		{Name: "transfer_rows", Rules: []privacy.Rule{privacy.None(privacy.Ours, "job"), privacy.Kept("", privacy.Reports, "data")}},
		{Name: "transfer_cells", Rules: []privacy.Rule{privacy.None(privacy.Ours, "job ws"), privacy.Erased(privacy.Copies, "data")}},
	}
}
