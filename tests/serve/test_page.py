"""An operator at the page: headless Chromium makes an experiment, asks, types readings and comes back."""

import shutil

import pytest
from live import Live

selenium = pytest.importorskip("selenium", reason="selenium is not installed: the page is not tested")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="chromium or chromedriver (Debian: chromium-driver) is not here: the page is not tested",
)
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    live = Live(tmp_path_factory.mktemp("page"))
    yield live
    live.stop()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(str(DRIVER)))
    driver.implicitly_wait(0)
    yield driver
    driver.quit()


class Page:
    """What an operator does with the page."""

    def __init__(self, browser, live, width, scheme="light"):
        self.browser, self.root = browser, f"http://127.0.0.1:{live.port}/"
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def until(self, condition):
        return WebDriverWait(self.browser, 120, 0.05).until(lambda _: condition())

    def find(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.browser.execute_script(
            "return document.querySelector(arguments[0])?.textContent ?? ''", selector
        )

    def fill(self, selector, value):
        self.find(selector)[0].send_keys(str(value))

    def click(self, selector):
        self.until(lambda: self.find(selector))[0].click()

    def create(self, name, inputs=1):
        self.browser.get(self.root)
        self.until(lambda: self.find("#create"))
        self.fill("[name=title]", name)
        for d in range(inputs):
            if d:
                self.click("#more-inputs")
            row = f".row.input:nth-of-type({d + 1}) "
            for field, value in (("name", f"v{d + 1}"), ("low", 0), ("high", d + 1), ("unit", "mm")):
                self.fill(f"{row}[name={field}]", value)
        self.fill(".output [name=name]", "force")
        self.fill("[name=budget]", 8)
        self.fill("[name=goal]", "1000")
        self.click("#create button.main")
        self.until(lambda: self.text("h1") == name)

    def answer(self, reading, told):
        self.click("#ask")
        self.until(lambda: self.find(".answer .reading"))
        self.fill(".answer .reading", reading)
        self.find(".answer .reading")[0].send_keys(Keys.ENTER)
        self.until(lambda: self.text("#told") == f"{told} of 8 points")


@pytest.mark.parametrize("width", [1280, 390])
def test_an_operator_makes_an_experiment_and_comes_back(width, browser, place):
    page = Page(browser, place, width)
    page.create(f"<b>bench</b> {width}")
    assert page.text("#error") == "no model yet"
    page.answer("1,5", 1)  # a decimal comma is a point here
    page.answer("-2", 2)
    first = page.until(lambda: page.text("#error") if "no model" not in page.text("#error") else "")
    page.answer("4", 3)
    page.until(lambda: page.text("#error") not in ("", first))
    page.until(lambda: len(page.find("#pictures .dot")) == 3)
    page.until(lambda: page.find("#pictures path.mean") and page.find("#errors path.mean"))
    page.until(lambda: page.find("#effects .bar"))
    assert "reached" in page.text("#goal")
    page.click("#ask")
    page.click(".answer .fail")
    page.until(lambda: page.text("#told") == "4 of 8 points")
    page.until(lambda: page.find("#pictures .failed"))
    told = [[each["y"]] for each in place("GET", f"/{browser.current_url.split('/')[-1]}")["points"]]
    assert told == [[1.5], [-2.0], [4.0], [None]]
    last = page.text("#error")

    browser.refresh()
    page.until(lambda: page.text("#error") == last)
    assert page.text("#told") == "4 of 8 points"
    assert page.text("h1") == f"<b>bench</b> {width}"
    wide, there = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= there
    assert not [each for each in browser.get_log("browser") if each["level"] == "SEVERE"]


def test_two_maps_change_when_another_client_tells(browser, place):
    page = Page(browser, place, 390, "dark")
    page.create("map", inputs=2)
    path = f"/{browser.current_url.split('/')[-1]}"
    for x, y in (([0.1, 0.2], 1), ([0.9, 1.8], 2)):
        place("POST", path + "/tell", {"x": x, "y": y})
    page.until(lambda: len(page.find("#pictures .dot")) == 4)  # two points in each of two maps
    page.until(lambda: len(page.find("#pictures image")) == 4)  # each with its scale
    page.until(lambda: page.find("#pictures .star"))
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert max(map(int, dark[4:-1].split(","))) < 60


def test_slices_follow_a_slider_and_all_is_reached_by_keyboard(browser, place):
    inputs = [{"name": "a", "low": 0, "high": 1}, {"name": "b", "kind": "integer", "low": 0, "high": 5}]
    path = place.new(name="slices", inputs=inputs, budget=2)
    for x, y in (([0.1, 2], 1), ([0.9, 4], 2)):
        place("POST", path + "/tell", {"x": x, "y": y})
    page = Page(browser, place, 1280)
    browser.get(page.root)
    page.until(lambda: page.find("#list a"))
    for _ in range(20):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if "slices" in browser.switch_to.active_element.text:
            break
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.until(lambda: len(page.find("#pictures path.mean")) == 2)
    line = "return document.querySelectorAll('#pictures path.mean')[1].getAttribute('d')"
    before = browser.execute_script(line)
    page.find("#pictures input[type=range]")[0].send_keys(Keys.ARROW_RIGHT * 20)
    page.until(lambda: browser.execute_script(line) != before)


def test_a_refusal_is_shown_as_a_sentence(browser, place):
    path = place.new(name="refusal")
    page = Page(browser, place, 390)
    browser.get(f"{page.root}#{path}")
    browser.refresh()
    page.click("summary")
    page.fill("#own .place", 7)
    page.fill("#own .reading", 1)
    page.find("#own .reading")[0].send_keys(Keys.ENTER)
    page.until(lambda: "inside the bounds" in page.text("#message"))
    assert page.text("#told") == "0 of 8 points"
