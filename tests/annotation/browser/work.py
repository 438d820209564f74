"""An annotator's hands: opens texts, chooses answers, marks pieces, submits or skips."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, Response, TimeoutError, expect

PATIENT_TIMES = 10

# Where the mouse has to go down and up: inside the quote's first and last character, near the edge
# where each begins and ends. The page holds each line of a text in an element, and a <br> for each
# \r and each \n between them.
_ENDS = """
(text, [quote, nth]) => {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  let whole = '', places = [], node;
  while ((node = walker.nextNode())) {
    const data = node.nodeName === 'BR' ? '\\n' : node.nodeType === 3 ? node.data : '';
    for (let k = 0; k < data.length; k++) places.push([node, k]);
    whole += data;
  }
  let at = -1;
  for (let k = 0; k <= nth; k++) at = whole.indexOf(quote, at + 1);
  if (at < 0) throw new Error('not in the text: ' + quote + ' in ' + whole);
  const [first, last] = [places[at], places[at + quote.length - 1]];
  first[0].parentElement.scrollIntoView({block: 'center'});
  const point = ([node, offset], leading) => {
    const range = document.createRange();
    const half = /[\\uDC00-\\uDFFF]/.test(node.data[offset]) ? 1 : 0;  // of a surrogate pair
    const pair = /[\\uD800-\\uDBFF]/.test(node.data[offset]) ? 1 : 0;
    range.setStart(node, offset - half);
    range.setEnd(node, offset + 1 + pair);
    const box = range.getBoundingClientRect();
    const leftwards = /[\\p{Script=Hebrew}\\p{Script=Arabic}]/u.test(node.data[offset]);
    const inside = 0.15 * box.width;
    return [leading !== leftwards ? box.left + inside : box.right - inside, box.y + box.height / 2];
  };
  return [point(first, true), point(last, false)];
}
"""


@dataclass(frozen=True)
class Work:
    """The page of one project. Passages, questions and options are named by what is shown."""

    page: Page

    def begin(self, url: str) -> None:
        """Opens a project where its next task is, and puts its instruction away."""
        with self.page.expect_response(_next_task):
            self.page.goto(f"{url}/data?labeling=1")
        self._settled()

    def passage(self, title: str) -> Locator:
        """A text with its title and its marker."""
        header = self.page.locator(".ant-collapse-header", has_text=title)
        return self.page.locator(".ant-collapse-item").filter(has=header)

    def text(self, passage: str) -> Locator:
        """The text itself, hidden or not."""
        return self.passage(passage).locator(".lsf-htx-richtext")

    def open_passage(self, passage: str) -> None:
        """Shows a text that is hidden."""
        expect(self.text(passage)).to_be_hidden()
        self.passage(passage).locator(".ant-collapse-header").click()
        expect(self.text(passage)).to_be_visible()
        self.page.wait_for_timeout(400)  # it unfolds

    def choose(self, question: str, option: str) -> None:
        """Answers a question, by a dropdown or by radio buttons."""
        answers = self._answers(question)
        dropdown = answers.locator("button[aria-haspopup=dialog]")
        if dropdown.count():
            dropdown.click()
            self.page.get_by_role("option", name=option, exact=True).click()
            expect(dropdown).to_contain_text(option)
        else:
            button = self._radio(answers, option)
            button.click()
            expect(button.locator("input")).to_be_checked()

    def hint(self, question: str, option: str) -> str:
        """What is shown when the mouse rests on an option."""
        answers = self._answers(question)
        dropdown = answers.locator("button[aria-haspopup=dialog]")
        place = self._radio(answers, option).get_by_text(option).last
        if dropdown.count():
            dropdown.click()
            listed = self.page.get_by_role("option", name=option, exact=True)
            place = listed.get_by_text(option, exact=True)
        bubble = self.page.get_by_test_id("tooltip-body")
        for _ in range(PATIENT_TIMES):  # a list that is still opening slips from under the mouse
            place.hover(position={"x": 5, "y": 5})
            with suppress(TimeoutError):
                bubble.wait_for(timeout=3000)
                break
            self.page.mouse.move(0, 0)
        shown = bubble.inner_text()
        if dropdown.count():
            self.page.keyboard.press("Escape")
        self.page.mouse.move(0, 0)
        expect(bubble).to_be_hidden()
        return shown

    def select_text(self, passage: str, quote: str, nth: int = 0) -> None:
        """Marks the quote, where it occurs for the `nth` time (from 0), by dragging the mouse."""
        self.page.keyboard.press("Escape")  # a marked piece that is still chosen would be changed
        marker = self.passage(passage).locator(".lsf-label")
        if "lsf-label_selected" not in (marker.get_attribute("class") or ""):
            marker.click()
        expect(marker).to_have_class(re.compile("lsf-label_selected"))
        pieces = self.page.locator(".lsf-outliner-item")
        before = pieces.count()
        sought = re.sub("\r", "\n", quote)
        begin, end = self.text(passage).evaluate(_ENDS, [sought, nth])
        self.page.mouse.move(*begin)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=8)
        chosen = self.page.evaluate("document.getSelection().toString()")
        assert chosen.split() == sought.split(), (chosen, sought)
        self.page.mouse.up()
        expect(pieces).to_have_count(before + 1)

    def comment(self, text: str) -> None:
        """Types a comment."""
        self.page.locator("textarea").last.fill(text)

    def submit(self) -> None:
        """Submits the answers and waits for the next task, or for word that there is none."""
        self._leave("bottombar-submit-button")

    def skip(self) -> None:
        """Skips the task, and waits as `submit` does."""
        self._leave("bottombar-skip-button")

    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.page.get_by_text("No More Tasks Left in Queue").is_visible()

    def _leave(self, button: str) -> None:
        with self.page.expect_response(_next_task):
            self.page.get_by_test_id(button).click()
        self._settled()

    def _settled(self) -> None:
        """Waits until a task or the end of the queue is shown."""
        end = self.page.get_by_text("No More Tasks Left in Queue")
        shown = self.page.get_by_test_id("bottombar-skip-button").or_(end)
        expect(shown.first).to_be_visible()
        self.page.wait_for_timeout(500)  # the task before is replaced
        close = self.page.get_by_label("Close modal")
        if close.is_visible():
            close.click()
            expect(close).to_be_hidden()

    def _answers(self, question: str) -> Locator:
        title = self.page.get_by_role("heading", name=question, exact=True)
        return title.locator("xpath=following-sibling::*[contains(@class, 'lsf-choices')][1]")

    def _radio(self, answers: Locator, option: str) -> Locator:
        shown = re.compile(rf"^\s*{re.escape(option)}(\[\w\])?\s*$")  # a hotkey stands behind it
        return answers.locator("label").filter(has_text=shown)


def _next_task(response: Response) -> bool:
    return "/api/dm/actions" in response.url and "id=next_task" in response.url
