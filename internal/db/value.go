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

// bind sets the parameters of a statement, in the order it wants them.
func (c *liteConn) bind(s *liteStmt, args []any) error {
	if err := checkCount(s.order, args); err != nil {
		return err
	}
	c.args = c.args[:0]
	for _, n := range s.order {
		v, err := toLite(args[n-1])
		if err != nil {
			return fmt.Errorf("parameter $%d: %w", n, err)
		}
		c.args = append(c.args, v)
	}
	err := s.s.Bind(c.args)
	clear(c.args)
	return mapLite(err)
}

// toLite converts an argument to a type that SQLite takes. Most have one
// already and are returned unchanged, because boxing them again would cost
// memory.
func toLite(a any) (any, error) {
	switch v := a.(type) {
	case nil, int64, int, bool, float64:
		return a, nil
	case string:
		return a, checkText(v)
	case []byte:
		return blob(a, v), nil
	case time.Time:
		// PostgreSQL would refuse it for a BIGINT column; so do we.
		return nil, fmt.Errorf("time.Time is not stored; use UnixMilli")
	case driver.Valuer:
		return fromValuer(v)
	}
	return toLiteReflect(reflect.ValueOf(a))
}

// blob keeps an empty value apart from NULL, as empty text, which reads back as
// an empty []byte: stores hold it like that.
func blob(a any, b []byte) any {
	switch {
	case b == nil:
		return nil
	case len(b) == 0:
		return ""
	}
	return a
}

func fromValuer(v driver.Valuer) (any, error) {
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
	return toLite(x)
}

func toLiteReflect(rv reflect.Value) (any, error) {
	switch rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return nil, nil
		}
		return toLite(rv.Elem().Interface())
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
			b := rv.Bytes()
			return blob(b, b), nil
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
