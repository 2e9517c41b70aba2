package mask

import (
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/privacy"
)

// strip is privacy.Without for a decoded record.
func strip(e *twin.Entity, names []string) (err error) {
	if len(names) == 0 {
		return nil
	}
	for _, o := range []struct {
		name  string
		value *twin.Object
	}{{"properties", &e.Properties}, {"metadata", &e.Metadata}} {
		if o.value.IsZero() {
			continue
		}
		if o.value.Value, e.Withheld, err = privacy.Drop(o.value.Value, o.name, names, e.Withheld); err != nil {
			return err
		}
	}
	return nil
}
