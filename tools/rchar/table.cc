// SPDX-License-Identifier: GPL-2.0
#include "table.hh"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace {

constexpr size_t gap = 2;
constexpr size_t narrowest = 8;	 // a text that lost its end

const char *escape_of(Tone tone)
{
	switch (tone) {
	case Tone::GOOD:
		return "\033[32m";
	case Tone::WARN:
		return "\033[33m";
	case Tone::BAD:
		return "\033[31m";
	case Tone::HEAD:
		return "\033[1m";
	case Tone::PLAIN:
		break;
	}
	return "";
}

void print_line(const Line &line, bool colour)
{
	for (const Piece &p : line) {
		const char *escape = colour ? escape_of(p.tone) : "";

		printf("%s%s%s", escape, p.text.c_str(), *escape ? "\033[0m" : "");
	}
	putchar('\n');
}

bool less(const Cell &a, const Cell &b)
{
	if (a.number && b.number)
		return *a.number < *b.number;
	return a.text < b.text;
}

}  // namespace

Layout::Layout(const Table &table, size_t width) : columns_(table.columns)
{
	for (const Column &c : columns_)
		widths_.push_back(std::string(c.head).size());
	for (const Row &row : table.rows)
		for (size_t i = 0; i < columns_.size(); i++)
			widths_[i] = std::max(widths_[i], row.cells[i].text.size());
	while (width && this->width() > width) {
		auto widest = widths_.end();

		for (auto w = widths_.begin(); w != widths_.end(); ++w)
			if (!columns_[w - widths_.begin()].right && *w > narrowest &&
			    (widest == widths_.end() || *w > *widest))
				widest = w;
		if (widest == widths_.end())
			break;
		--*widest;
	}
}

size_t Layout::width() const
{
	size_t sum = std::accumulate(widths_.begin(), widths_.end(), size_t{0});

	return sum + gap * (widths_.size() - 1);
}

std::string Layout::padded(size_t column, const std::string &text) const
{
	std::string cell = text;
	bool last = column + 1 == columns_.size();

	if (cell.size() > widths_[column])
		cell = cell.substr(0, widths_[column] - 1) + "~";
	std::string space(widths_[column] - cell.size(), ' ');

	if (columns_[column].right)
		cell = space + cell;
	else if (!last)
		cell += space;
	return last ? cell : cell + std::string(gap, ' ');
}

Line Layout::head() const
{
	Line line;

	for (size_t i = 0; i < columns_.size(); i++)
		line.push_back({padded(i, columns_[i].head), Tone::HEAD});
	return line;
}

Line Layout::line(const Row &row) const
{
	Line line;

	for (size_t i = 0; i < columns_.size(); i++)
		line.push_back({padded(i, row.cells[i].text), row.cells[i].tone});
	return line;
}

void sort_rows(Table *table, size_t column, bool reverse)
{
	std::stable_sort(table->rows.begin(), table->rows.end(), [=](const Row &a, const Row &b) {
		return reverse ? less(b.cells[column], a.cells[column]) :
				 less(a.cells[column], b.cells[column]);
	});
}

void filter_rows(Table *table, const std::string &text)
{
	auto without = [&](const Row &row) {
		return std::none_of(row.cells.begin(), row.cells.end(), [&](const Cell &c) {
			return c.text.find(text) != std::string::npos;
		});
	};

	table->rows.erase(std::remove_if(table->rows.begin(), table->rows.end(), without),
			  table->rows.end());
}

void print_table(const Table &table, bool colour)
{
	Layout layout(table, 0);

	if (table.rows.empty())
		return;
	print_line(layout.head(), colour);
	for (const Row &row : table.rows) {
		print_line(layout.line(row), colour);
		if (!row.note.empty())
			printf("    %s\n", row.note.c_str());
	}
}
