// SPDX-License-Identifier: GPL-2.0
// Aligned columns, for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

enum class Tone { PLAIN, GOOD, WARN, BAD, HEAD };

struct Cell {
	std::string text;
	std::optional<double> number = {};  // what the column is sorted by; else by text
	Tone tone = Tone::PLAIN;
};

struct Row {
	std::string key;  // the same in all tables that show the object
	std::vector<Cell> cells;
	std::string note = {};	// a line below, for a terminal that scrolls
};

struct Column {
	const char *head;
	bool right = false;
};

struct Table {
	std::vector<Column> columns;
	std::vector<Row> rows;
};

// A piece of a line, in one tone.
struct Piece {
	std::string text;
	Tone tone;
};
using Line = std::vector<Piece>;

// Lays the columns out. Where width is not enough, the widest texts lose their ends; 0: any width.
class Layout {
public:
	Layout(const Table &table, size_t width);
	Line head() const;
	Line line(const Row &row) const;
	size_t width() const;

private:
	const std::vector<Column> &columns_;
	std::vector<size_t> widths_;

	std::string padded(size_t column, const std::string &text) const;
};

// Ascending by that column. Rows that are equal in it keep their order.
void sort_rows(Table *table, size_t column, bool reverse);
// Only rows with that text in one of their cells.
void filter_rows(Table *table, const std::string &text);
// The table on stdout, in colour if wanted.
void print_table(const Table &table, bool colour);
