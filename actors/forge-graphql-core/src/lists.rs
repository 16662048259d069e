//! Connections: pages of REST's lists as GraphQL has them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};

/// Pages that are read for one connection.
const MAX_PAGES: usize = 10;
/// Most items of one connection, as GitHub has it.
const MAX_ITEMS: usize = 100;

/// Which part of a connection is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageSlice {
    first: Option<usize>,
    last: Option<usize>,
    start: usize,
    /// `totalCount` is asked for.
    pub(crate) counts: bool,
    /// Something else is.
    pub(crate) nodes: bool,
}

impl PageSlice {
    pub(crate) fn parse(args: &Value, counts: bool, nodes: bool) -> RestResult<Self> {
        let number = |name: &str| match &args[name] {
            Value::Null => Ok(None),
            value => match value
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
            {
                Some(number) if number <= MAX_ITEMS => Ok(Some(number)),
                _ => Err(RestFailure::new(
                    422,
                    format!("`{name}` is 0 to {MAX_ITEMS}, not {value}"),
                )),
            },
        };
        if args["before"]
            .as_str()
            .is_some_and(|before| !before.is_empty())
        {
            return Err(RestFailure::not_answered("`before`"));
        }
        let start = match args["after"].as_str() {
            None | Some("") => 0,
            Some(cursor) => position(cursor).ok_or_else(|| {
                RestFailure::new(
                    422,
                    format!("`{cursor}` does not appear to be a valid cursor"),
                )
            })?,
        };
        Ok(Self {
            first: number("first")?,
            last: number("last")?,
            start,
            counts,
            nodes,
        })
    }

    /// `last` taken as `first`, and whether that is so: of lists that are asked for the other way
    /// round then.
    ///
    /// # Errors
    /// A cursor is given, which is a place in the list as it is.
    pub(crate) fn forwards(mut self) -> RestResult<(Self, bool)> {
        if !self.is_from_end() {
            return Ok((self, false));
        }
        if self.start > 0 {
            return Err(RestFailure::not_answered("`last` with `after`"));
        }
        self.first = self.last.take();
        Ok((self, true))
    }

    fn size(&self) -> usize {
        self.first.or(self.last).unwrap_or(30)
    }

    fn is_from_end(&self) -> bool {
        self.first.is_none() && self.last.is_some()
    }
}

fn cursor(position: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("o{position}"))
}

fn position(cursor: &str) -> Option<usize> {
    let plain = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    plain.strip_prefix('o')?.parse().ok()
}

type ItemPredicate = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// A page of a list.
struct Page {
    /// Those that are kept, each with its place in the whole list, from 1.
    items: Vec<(usize, Value)>,
    /// How many the page has, those that are not kept with them.
    all: usize,
    /// How many there are in all, where it is said.
    total: Option<usize>,
    /// Another page follows.
    next: bool,
}

/// A list of REST's.
pub(crate) struct RestList {
    path: String,
    query: Vec<(&'static str, String)>,
    /// Where the items are in the answer.
    within: &'static str,
    keep: Option<ItemPredicate>,
    /// What it is ordered by, and whether the largest comes first; as the forge has it otherwise.
    order: Option<(&'static str, bool)>,
    /// What is added to each item.
    marks: Vec<(&'static str, Value)>,
}

impl RestList {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            query: Vec::new(),
            within: "",
            keep: None,
            order: None,
            marks: Vec::new(),
        }
    }

    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn with_pointer(mut self, pointer: &'static str) -> Self {
        self.within = pointer;
        self
    }

    /// Only those that `keep` says.
    pub(crate) fn keep(mut self, keep: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.keep = Some(match self.keep {
            None => Box::new(keep),
            Some(before) => Box::new(move |item| before(item) && keep(item)),
        });
        self
    }

    /// Ordered by what stands at the first of these places, split by `|`.
    pub(crate) fn order(mut self, places: &'static str, largest_first: bool) -> Self {
        self.order = Some((places, largest_first));
        self
    }

    pub(crate) fn mark(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.marks.push((name, value.into()));
        self
    }

    /// One page, without the first ones that are to be skipped.
    async fn page(
        &self,
        session: &QuerySession,
        page: usize,
        size: usize,
        skipped: usize,
    ) -> RestResult<Page> {
        let mut query: Vec<(&str, String)> = self.query.clone();
        let limit = if session.is_github() {
            "per_page"
        } else {
            "limit"
        };
        query.extend([(limit, size.to_string()), ("page", page.to_string())]);
        let answer = session.read(&self.path, &query).await?;
        let items = answer.body.pointer(self.within).and_then(Value::as_array);
        let items = items.map(Vec::as_slice).unwrap_or_default();
        session.budget.count_items(items.len())?;
        let inner = answer.body.get("total_count").and_then(Value::as_u64);
        let by_pages = (size == 1).then_some(answer.last).flatten();
        let total = answer.total.or(inner).or(by_pages);
        let total = total.and_then(|total| usize::try_from(total).ok());
        let next = answer.next || total.is_some_and(|total| page * size < total);
        // Not every forge says how many there are within an answer.
        let next = next || (!self.within.is_empty() && items.len() == size);
        // A list that has no pages is given as a whole.
        let next = next && items.len() <= size;
        let all = items.len();
        let kept = items.iter().enumerate();
        let kept = kept.filter(|(_, item)| self.keep.as_ref().is_none_or(|keep| keep(item)));
        let items: Vec<(usize, &Value)> = kept.skip_while(|(at, _)| *at < skipped).collect();
        let mut taken = Vec::with_capacity(items.len());
        for (at, item) in items {
            session.budget.copy(item)?;
            let mut item = item.clone();
            for (name, value) in &self.marks {
                item[*name] = value.clone();
            }
            taken.push(((page - 1) * size + at + 1, item));
        }
        Ok(Page {
            items: taken,
            all,
            total,
            next,
        })
    }

    /// All of it.
    ///
    /// # Errors
    /// It is longer than what is read: what follows could be what is looked for.
    pub(crate) async fn all(&self, session: &QuerySession) -> RestResult<Vec<Value>> {
        let placed = self.placed(session).await?;
        Ok(placed.into_iter().map(|(_, item)| item).collect())
    }

    /// All of it, each with its place in the list.
    async fn placed(&self, session: &QuerySession) -> RestResult<Vec<(usize, Value)>> {
        let size = largest(session);
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let page = self.page(session, page, size, 0).await?;
            all.extend(page.items);
            if !page.next {
                return Ok(all);
            }
        }
        let most = MAX_PAGES * size;
        Err(RestFailure::new(
            422,
            format!(
                "`{}` has more than {most} items, which are looked through for this: ask for less, or for pages without counts",
                self.path
            ),
        ))
    }

    async fn count(&self, session: &QuerySession) -> RestResult<usize> {
        if self.keep.is_some() {
            return Ok(self.all(session).await?.len());
        }
        let page = self.page(session, 1, 1, 0).await?;
        Ok(page.total.unwrap_or(page.all))
    }

    /// The part of it that is asked for.
    pub(crate) async fn connection(
        &self,
        session: &QuerySession,
        part: &PageSlice,
    ) -> RestResult<Value> {
        if !part.nodes {
            let total = self.count(session).await?;
            return Ok(json!({"totalCount": total, "nodes": [], "cursors": []}));
        }
        if let Some((places, largest_first)) = self.order {
            let mut all = self.all(session).await?;
            sort(&mut all, places, largest_first);
            return Ok(of_items(all, part));
        }
        let (wanted, mut start) = (part.size(), part.start);
        if part.is_from_end() {
            if self.keep.is_some() {
                return self.last_ones(session, part).await;
            }
            start = self.count(session).await?.saturating_sub(wanted).max(start);
        }
        let largest = largest(session);
        let aligned = self.keep.is_none() && wanted > 0 && start.is_multiple_of(wanted);
        let size = if aligned {
            wanted.min(largest)
        } else {
            largest
        };
        let (mut nodes, mut cursors) = (Vec::new(), Vec::new());
        let (mut at, mut skipped) = (start / size + 1, start % size);
        let (mut more, mut total) = (false, None);
        let mut end = None;
        for read in 1..=MAX_PAGES {
            let page = self.page(session, at, size, skipped).await?;
            total = page.total;
            for (place, item) in page.items {
                if nodes.len() == wanted {
                    more = true;
                    break;
                }
                nodes.push(item);
                cursors.push(cursor(place));
            }
            more = more || (page.next && nodes.len() >= wanted);
            if more || !page.next {
                break;
            }
            if read == MAX_PAGES {
                // The next document goes on from here.
                more = true;
                end = Some(cursor(at * size));
            }
            (at, skipped) = (at + 1, 0);
        }
        let whole = start == 0 && !more;
        let total = match (part.counts, whole, self.keep.is_some(), total) {
            (false, ..) | (_, true, ..) => nodes.len(),
            (_, _, false, Some(total)) => total,
            _ => self.count(session).await?,
        };
        let mut found = connection(&nodes, &cursors, start > 0, more, total);
        if let Some(end) = end {
            found["pageInfo"]["endCursor"] = json!(end);
        }
        Ok(found)
    }

    /// The last ones of those that are kept.
    async fn last_ones(&self, session: &QuerySession, part: &PageSlice) -> RestResult<Value> {
        let all = self.placed(session).await?;
        let total = all.len();
        let after = all.partition_point(|(place, _)| *place <= part.start);
        let start = total.saturating_sub(part.size()).max(after);
        let last = all.into_iter().skip(start);
        let (places, nodes): (Vec<usize>, Vec<Value>) = last.unzip();
        let cursors: Vec<String> = places.into_iter().map(cursor).collect();
        Ok(connection(&nodes, &cursors, start > 0, false, total))
    }
}

fn largest(session: &QuerySession) -> usize {
    if session.is_github() { 100 } else { 50 }
}

fn connection(
    nodes: &[Value],
    cursors: &[String],
    before: bool,
    after: bool,
    total: usize,
) -> Value {
    json!({
        "totalCount": total,
        "pageInfo": {
            "hasNextPage": after,
            "hasPreviousPage": before,
            "startCursor": cursors.first(),
            "endCursor": cursors.last(),
        },
        "nodes": nodes,
        "cursors": cursors,
    })
}

/// Orders items by what stands at the first of these places, split by `|`.
pub(crate) fn sort(items: &mut [Value], places: &str, largest_first: bool) {
    let key = |item: &Value| {
        let mut found = places.split('|').filter_map(|place| item.pointer(place));
        let found = found.find(|value| !value.is_null());
        let number = found.and_then(Value::as_u64);
        let text = found.and_then(Value::as_str).map(str::to_lowercase);
        (number, text)
    };
    items.sort_by_cached_key(key);
    if largest_first {
        items.reverse();
    }
}

/// A connection of what is there already.
pub(crate) fn of_items(items: Vec<Value>, part: &PageSlice) -> Value {
    let (total, wanted) = (items.len(), part.size());
    let mut start = part.start.min(total);
    if part.is_from_end() {
        start = total.saturating_sub(wanted).max(start);
    }
    let nodes: Vec<Value> = items.into_iter().skip(start).take(wanted).collect();
    let cursors: Vec<String> = (0..nodes.len()).map(|at| cursor(start + at + 1)).collect();
    let more = start + nodes.len() < total;
    connection(&nodes, &cursors, start > 0, more, total)
}

/// The same the other way round: what was asked for from its end. Its cursors lead nowhere.
///
/// # Errors
/// There may be more of what is asked for than was read.
pub(crate) fn backwards(mut found: Value, part: &PageSlice) -> RestResult<Value> {
    let has_more = found["pageInfo"]["hasNextPage"].take();
    let is_whole = found["nodes"]
        .as_array()
        .is_some_and(|all| all.len() == part.size());
    if part.nodes && has_more == true && !is_whole {
        return Err(RestFailure::new(
            422,
            format!(
                "the last {} are not among the {MAX_PAGES} pages that are read: ask with `first` and a cursor",
                part.size()
            ),
        ));
    }
    for list in ["nodes", "cursors"] {
        if let Some(all) = found[list].as_array_mut() {
            all.reverse();
        }
    }
    for cursor in found["cursors"].as_array_mut().into_iter().flatten() {
        *cursor = json!("");
    }
    found["pageInfo"] = json!({
        "hasNextPage": false, "hasPreviousPage": has_more, "startCursor": null, "endCursor": null,
    });
    Ok(found)
}

/// A connection with nothing in it: of what REST does not have.
pub(crate) fn nothing() -> Value {
    connection(&[], &[], false, false, 0)
}
