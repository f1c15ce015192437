//! Rows of a table, in columns.

use std::collections::HashMap;

use super::schema::{Column, Kind, TableSchema};

/// Some rows of a table.
#[derive(Debug)]
pub struct Batch {
    /// The table.
    pub schema: &'static TableSchema,
    /// Its columns.
    pub columns: Vec<ColumnCells>,
    n_rows: usize,
    /// The column that the next cell is for.
    next: usize,
}

/// The cells of a column.
#[derive(Debug)]
pub struct ColumnCells {
    /// The values of those that have one.
    pub values: Values,
    /// For each row 1 if its cell has a value, else 0; empty in a column in which all have.
    pub present: Vec<i16>,
    /// The texts that stand for the numbers of a column of texts; they are never removed.
    pub texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

/// The values of a column.
#[derive(Debug)]
pub enum Values {
    /// Whole numbers.
    Int(Vec<i64>),
    /// Other numbers.
    Real(Vec<f64>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Texts, by number.
    Text(Vec<u32>),
}

impl ColumnCells {
    fn new(column: &Column) -> Self {
        Self {
            values: match column.kind {
                Kind::Int => Values::Int(Vec::new()),
                Kind::Real => Values::Real(Vec::new()),
                Kind::Bool => Values::Bool(Vec::new()),
                Kind::Text => Values::Text(Vec::new()),
            },
            present: Vec::new(),
            texts: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Int(values) => values.clear(),
            Values::Real(values) => values.clear(),
            Values::Bool(values) => values.clear(),
            Values::Text(values) => values.clear(),
        }
        self.present.clear();
    }
}

impl Batch {
    /// Without rows.
    #[must_use]
    pub fn new(schema: &'static TableSchema) -> Self {
        Self {
            schema,
            columns: schema.columns.iter().map(ColumnCells::new).collect(),
            n_rows: 0,
            next: 0,
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Removes all rows; texts keep their numbers.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(ColumnCells::clear);
        self.n_rows = 0;
    }

    #[inline]
    fn cell(&mut self, is_present: bool) -> &mut Values {
        let column = &self.schema.columns[self.next];
        let cells = &mut self.columns[self.next];
        if column.is_nullable {
            cells.present.push(is_present.into());
        } else {
            debug_assert!(is_present, "{} has a value in each row", column.name);
        }
        self.next += 1;
        if self.next == self.schema.columns.len() {
            self.next = 0;
            self.n_rows += 1;
        }
        &mut cells.values
    }

    /// The next cell, a whole number; greater ones than the largest that fits are that.
    #[inline]
    pub fn int(&mut self, value: impl TryInto<i64>) -> &mut Self {
        let value = value.try_into().unwrap_or(i64::MAX);
        if let Values::Int(values) = self.cell(true) {
            values.push(value);
        }
        self
    }

    /// The next cell, a whole number, if it is known.
    #[inline]
    pub fn maybe(&mut self, value: Option<impl TryInto<i64>>) -> &mut Self {
        match value {
            Some(value) => self.int(value),
            None => self.null(),
        }
    }

    /// The next cell, without a value.
    #[inline]
    pub fn null(&mut self) -> &mut Self {
        self.cell(false);
        self
    }

    /// The next cell, another number, if it is known.
    pub fn real(&mut self, value: Option<f64>) -> &mut Self {
        if let (Some(value), Values::Real(values)) = (value, self.cell(value.is_some())) {
            values.push(value);
        }
        self
    }

    /// The next cell, yes or no, if it is known.
    #[inline]
    pub fn truth(&mut self, value: Option<bool>) -> &mut Self {
        if let (Some(value), Values::Bool(values)) = (value, self.cell(value.is_some())) {
            values.push(value);
        }
        self
    }

    /// The next cell, a text, if it is known.
    pub fn text(&mut self, text: Option<&str>) -> &mut Self {
        let number = text.map(|text| self.number_of(self.next, text));
        self.numbered(number)
    }

    /// The next cell, a text by the number that it has in its column, if it is known.
    #[inline]
    pub fn numbered(&mut self, number: Option<u32>) -> &mut Self {
        if let (Some(number), Values::Text(values)) = (number, self.cell(number.is_some())) {
            values.push(number);
        }
        self
    }

    /// The number of a text in a column.
    pub fn number_of(&mut self, column: usize, text: &str) -> u32 {
        let cells = &mut self.columns[column];
        if let Some(&number) = cells.numbers.get(text) {
            return number;
        }
        let number = cells.texts.len() as u32;
        cells.texts.push(text.to_owned());
        cells.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Goes through the cells of a column, row by row.
#[derive(Debug)]
pub struct Cursor<'b> {
    cells: &'b ColumnCells,
    row: usize,
    value: usize,
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'b> {
    /// It has no value.
    Null,
    /// A whole number.
    Int(i64),
    /// Another number.
    Real(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(&'b str),
}

impl<'b> Cursor<'b> {
    /// At the first row.
    #[must_use]
    pub fn new(cells: &'b ColumnCells) -> Self {
        Self {
            cells,
            row: 0,
            value: 0,
        }
    }

    /// The cell of the next row.
    #[inline]
    pub fn next_cell(&mut self) -> Cell<'b> {
        let is_present = self.cells.present.get(self.row).is_none_or(|&is| is == 1);
        self.row += 1;
        if !is_present {
            return Cell::Null;
        }
        let at = self.value;
        self.value += 1;
        match &self.cells.values {
            Values::Int(values) => Cell::Int(values[at]),
            Values::Real(values) => Cell::Real(values[at]),
            Values::Bool(values) => Cell::Bool(values[at]),
            Values::Text(numbers) => Cell::Text(&self.cells.texts[numbers[at] as usize]),
        }
    }
}
