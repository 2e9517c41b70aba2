package entity

import (
	"github.com/hearth-dmrv/hearth/internal/entity/index"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// Key is index.Key, for the fields type, protocol, project and status.
func Key(ws, field, value string) int64 { return index.Key(ws, field, value) }

// PropID is index.PropID.
func PropID(ws, protocol, name string) int64 { return index.PropID(ws, protocol, name) }

// IndexText is index.Text.
func IndexText(kind rql.Kind, value any) (string, bool) { return index.Text(kind, value) }
