//! A screen as a picture for the documentation: text and colours of its cells, as SVG.

use std::fmt::Write as _;

/// Size of a cell, in pixels.
const CELL: (u16, u16) = (8, 17);

/// Space around the screen, in pixels.
const MARGIN: u16 = 8;

/// The picture of a screen.
pub(crate) fn picture(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let (width, height) = (columns * CELL.0 + 2 * MARGIN, rows * CELL.1 + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#10151c\"/>\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let run = run(screen, row, column, columns);
            draw(&mut svg, &run, row, column);
            column += run.columns;
        }
    }
    svg + "</svg>\n"
}

/// Cells of one look that stand side by side.
struct Run {
    text: String,
    columns: u16,
    look: Look,
}

/// How a cell looks.
#[derive(PartialEq, Eq)]
struct Look {
    colour: String,
    background: Option<String>,
    bold: bool,
}

fn run(screen: &vt100::Screen, row: u16, from: u16, columns: u16) -> Run {
    let first = look(screen, row, from);
    let mut run = Run {
        text: String::new(),
        columns: 0,
        look: first,
    };
    while from + run.columns < columns && look(screen, row, from + run.columns) == run.look {
        let cell = screen.cell(row, from + run.columns).expect("on the screen");
        if !cell.is_wide_continuation() {
            run.text.push_str(if cell.contents().is_empty() {
                " "
            } else {
                cell.contents()
            });
        }
        run.columns += 1;
    }
    run
}

fn look(screen: &vt100::Screen, row: u16, column: u16) -> Look {
    let cell = screen.cell(row, column).expect("on the screen");
    let dim = if cell.dim() { "#7d8794" } else { "#d6dde6" };
    let foreground = colour(cell.fgcolor()).unwrap_or_else(|| dim.to_owned());
    let background = colour(cell.bgcolor());
    if cell.inverse() {
        return Look {
            colour: background.unwrap_or_else(|| "#10151c".to_owned()),
            background: Some(foreground),
            bold: cell.bold(),
        };
    }
    Look {
        colour: foreground,
        background,
        bold: cell.bold(),
    }
}

/// The sixteen colours as most terminals have them.
const COLOURS: [&str; 16] = [
    "#10151c", "#e65a5a", "#5abe6e", "#dcaa46", "#4f8fd0", "#b48ead", "#46aadc", "#d6dde6",
    "#7d8794", "#e65a5a", "#5abe6e", "#f0b43c", "#6fa8e0", "#c8a2c8", "#6cc4ec", "#ffffff",
];

fn colour(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => {
            let index = usize::from(index).min(COLOURS.len() - 1);
            Some(COLOURS[index].to_owned())
        }
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

fn draw(svg: &mut String, run: &Run, row: u16, column: u16) {
    let (x, y) = (MARGIN + column * CELL.0, MARGIN + row * CELL.1);
    let width = run.columns * CELL.0;
    if let Some(background) = &run.look.background {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{background}\"/>",
            CELL.1
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let bold = if run.look.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let text = run
        .text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{}\" fill=\"{}\"{bold} textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\">{text}</text>",
        y + 13,
        run.look.colour
    );
}
