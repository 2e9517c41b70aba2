package db

// Chunk is how many keys a statement with In64 takes. The texts of statements
// are constants, so short lists are padded with a key that does not exist.
const Chunk = 64

// In64 is a list of Chunk parameters, the first of a statement.
const In64 = `($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32,` +
	`$33,$34,$35,$36,$37,$38,$39,$40,$41,$42,$43,$44,$45,$46,$47,$48,$49,$50,$51,$52,$53,$54,$55,$56,$57,$58,$59,$60,$61,$62,$63,$64)`

// Keys returns the arguments of a statement with In64: at most Chunk keys,
// padded with none, and what follows them.
func Keys[T any](keys []T, none T, more ...any) []any {
	args := make([]any, 0, Chunk+len(more))
	for _, key := range keys {
		args = append(args, key)
	}
	for len(args) < Chunk {
		args = append(args, none)
	}
	return append(args, more...)
}
