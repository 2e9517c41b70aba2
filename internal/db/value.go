package db

import (
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// bind turns arguments into what the SQLite driver takes, in the order a
// statement wants them. The result is valid until the next call.
func (c *liteConn) bind(order []int, args []any) ([]driver.NamedValue, error) {
	if err := checkCount(order, args); err != nil || len(order) == 0 {
		return nil, err
	}
	if cap(c.args) < len(order) {
		c.args = make([]driver.NamedValue, len(order), max(16, len(order)))
	}
	out := c.args[:len(order)]
	for i, n := range order {
		v, err := toDriver(args[n-1])
		if err != nil {
			return nil, fmt.Errorf("parameter $%d: %w", n, err)
		}
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out, nil
}

func toDriver(a any) (driver.Value, error) {
	switch v := a.(type) {
	case nil:
		return nil, nil
	case string:
		return v, checkText(v)
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case bool:
		return v, nil
	case float64:
		return v, nil
	case []byte:
		return blob(v), nil
	case time.Time:
		// PostgreSQL would refuse it for a BIGINT column; so do we.
		return nil, fmt.Errorf("time.Time is not stored; use UnixMilli")
	case driver.Valuer:
		return fromValuer(v)
	}
	return toDriverReflect(reflect.ValueOf(a))
}

// blob keeps an empty value apart from NULL: the driver binds an empty blob
// as NULL, and empty text reads back as an empty []byte.
func blob(b []byte) driver.Value {
	if b != nil && len(b) == 0 {
		return ""
	}
	return b
}

func fromValuer(v driver.Valuer) (driver.Value, error) {
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil, nil
	}
	x, err := v.Value()
	if err != nil {
		return nil, err
	}
	if _, again := x.(driver.Valuer); again {
		return nil, fmt.Errorf("%T is a Valuer of a Valuer", v)
	}
	return toDriver(x)
}

func toDriverReflect(rv reflect.Value) (driver.Value, error) {
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return nil, nil
		}
		return toDriver(rv.Elem().Interface())
	case reflect.String:
		s := rv.String()
		return s, checkText(s)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if rv.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%d does not fit 63 bits", rv.Uint())
		}
		return int64(rv.Uint()), nil
	case reflect.Bool:
		return rv.Bool(), nil
	case reflect.Float32, reflect.Float64:
		return rv.Float(), nil
	case reflect.Slice:
		if rv.Type().Elem().Kind() == reflect.Uint8 {
			return blob(rv.Bytes()), nil
		}
	}
	return nil, fmt.Errorf("type %s cannot be stored", rv.Type())
}

// checkText refuses what PostgreSQL cannot hold, so that both engines agree.
func checkText(s string) error {
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return errText()
	}
	return nil
}

func errText() *fault.Error {
	return fault.New(fault.Invalid, "TEXT_NOT_STORABLE", "A text holds a NUL character or is not valid UTF-8.")
}
