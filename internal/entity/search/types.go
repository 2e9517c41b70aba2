package search

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// hintTypes is how many types a hint names at most.
const hintTypes = 10

// TypesLike finds the types that a word may mean, among those of the newest
// thousand twins the caller may see: the same in another case, the singular of a
// plural, or those that end with the word; the first of these rules that matches
// decides.
func (s *Service) TypesLike(ctx context.Context, q db.Querier, word string) ([]string, error) {
	found, err := s.List(ctx, q, entity.Query{Sort: "-created", Limit: maxItems})
	if err != nil {
		return nil, err
	}
	like, _ := typesLike(found.Rows, word)
	return like, nil
}

// typesLike returns the types of twins that a word may mean, and all types.
func typesLike(rows []*entity.Row, word string) (like, all []string) {
	for _, r := range rows {
		if !slices.Contains(all, r.Type) {
			all = append(all, r.Type)
		}
	}
	slices.Sort(all)
	for d := range 3 {
		for _, name := range all {
			if distance(name, word) == d {
				like = append(like, name)
			}
		}
		if len(like) > 0 {
			break
		}
	}
	return like, all
}

// distance is how far a word is from the name of a type, -1 when it does not
// mean it.
func distance(name, word string) int {
	name, word = strings.ToLower(name), strings.ToLower(word)
	if name == word {
		return 0
	}
	one := strings.TrimSuffix(word, "s")
	if name == one || name == strings.TrimSuffix(word, "es") || name == strings.TrimSuffix(word, "ies")+"y" || name == word+"s" {
		return 1
	}
	if len(one) > 2 && strings.HasSuffix(name, one) {
		return 2
	}
	return -1
}

// meant says which type may have been meant when no twin has the requested one.
func (s *Service) meant(ctx context.Context, query entity.Query, found entity.Found) (string, error) {
	if query.Type == "" || query.After != nil || len(found.Rows) > 0 || found.Next != nil {
		return "", nil
	}
	any, err := s.List(ctx, s.cfg.DB, entity.Query{Type: query.Type, Limit: 1})
	if err != nil || len(any.Rows) > 0 {
		return "", err
	}
	newest, err := s.List(ctx, s.cfg.DB, entity.Query{Sort: "-created", Limit: maxItems})
	like, all := typesLike(newest.Rows, query.Type)
	switch {
	case err != nil || len(all) == 0:
		return "", err
	case len(like) > 0:
		return "No twin has the type " + query.Type + ". Did you mean " + strings.Join(like, " or ") + "?", nil
	case len(all) > hintTypes:
		all = append(all[:hintTypes], "…")
	}
	return "No twin has the type " + query.Type + ". There are " + strings.Join(all, ", ") + ".", nil
}
