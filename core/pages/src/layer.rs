//! The pages and their addresses. A new page is named here.

use engine::http::{Limit, Route, handler};
use engine::program::Layer;
use facts::sentence::Language;

use crate::words::Words;
use crate::{
    about, badge, check, country, data, docs, front, guide, image, incident, key, method, page, site, sitemap, style,
};

pub const LAYER: Layer = Layer { routes: &[PAGES, BESIDE, FILES], ..Layer::EMPTY };

/// A page in every language: English at its path, the others below the tag of their language.
macro_rules! pages {
    ($($path:literal $french:literal $arabic:literal => $make:path;)+) => {
        &[$(
            page!($path, Language::English, $make),
            page!($french, Language::French, $make),
            page!($arabic, Language::Arabic, $make),
        )+]
    };
}

macro_rules! page {
    ($path:expr, $language:expr, $make:path) => {
        Route::page($path, |cx| Box::pin(page::answer(cx, $language, |cx, w| Box::pin($make(cx, w)))))
            .limit(Limit::Data)
            .dressed(|response, _| page::dress(response, $language))
    };
}

/// A form, or what a form leads to, in a language.
macro_rules! said {
    ($route:path, $path:literal, $language:expr, $handler:path) => {
        $route($path, |cx| Box::pin($handler(cx, $language))).dressed(|response, _| page::dress(response, $language))
    };
}

/// An image with words, in a language.
macro_rules! badge {
    ($path:literal, $language:expr) => {
        Route::page($path, |cx| Box::pin(badge::badge(cx, Words($language)))).limit(Limit::Data)
    };
}

/// Addresses beside those of pages, in English: with a slash at the end, with parts too many, or without the last part.
macro_rules! beside {
    ($($path:literal)+) => {
        &[$(said!(Route::page, $path, Language::English, page::beside),)+]
    };
}

const PAGES: &[Route] = pages! {
    "/" "/fr" "/ar" => front::page;
    "/country/{code}" "/fr/country/{code}" "/ar/country/{code}" => country::page;
    "/site/{domain}" "/fr/site/{domain}" "/ar/site/{domain}" => site::page;
    "/site/{domain}/{country}" "/fr/site/{domain}/{country}" "/ar/site/{domain}/{country}" => check::page;
    "/incident/{id}" "/fr/incident/{id}" "/ar/incident/{id}" => incident::page;
    "/incidents" "/fr/incidents" "/ar/incidents" => incident::list;
    "/open-data" "/fr/open-data" "/ar/open-data" => data::page;
    "/method" "/fr/method" "/ar/method" => method::page;
    "/about" "/fr/about" "/ar/about" => about::page;
    "/guide/{reader}" "/fr/guide/{reader}" "/ar/guide/{reader}" => guide::page;
    "/api-key" "/fr/api-key" "/ar/api-key" => key::page;
};

const BESIDE: &[Route] = beside! {
    "/country" "/country/" "/country/{code}/" "/country/{code}/{*rest}"
    "/site" "/site/" "/site/{domain}/" "/site/{domain}/{country}/" "/site/{domain}/{country}/{*rest}"
    "/incident" "/incident/" "/incident/{id}/" "/incident/{id}/{*rest}"
    "/guide" "/guide/" "/guide/{reader}/" "/guide/{reader}/{*rest}"
    "/incidents/" "/incidents/{*rest}" "/open-data/" "/open-data/{*rest}" "/method/" "/method/{*rest}"
    "/about/" "/about/{*rest}" "/api-key/" "/api-key/{*rest}"
    "/docs/" "/docs/{operation}/" "/docs/{operation}/{*rest}"
    "/is-it-blocked/" "/is-it-blocked/{*rest}"
};

const FILES: &[Route] = &[
    // All that is below a language is an address of pages.
    said!(Route::page, "/fr/", Language::French, page::beside),
    said!(Route::page, "/fr/{*rest}", Language::French, page::beside),
    said!(Route::page, "/ar/", Language::Arabic, page::beside),
    said!(Route::page, "/ar/{*rest}", Language::Arabic, page::beside),
    said!(Route::page, "/is-it-blocked", Language::English, front::question),
    said!(Route::page, "/fr/is-it-blocked", Language::French, front::question),
    said!(Route::page, "/ar/is-it-blocked", Language::Arabic, front::question),
    said!(Route::form, "/api-key", Language::English, key::form),
    said!(Route::form, "/fr/api-key", Language::French, key::form),
    said!(Route::form, "/ar/api-key", Language::Arabic, key::form),
    page!("/docs", Language::English, docs::page),
    page!("/docs/{operation}", Language::English, docs::operation),
    Route::page("/image/world.svg", handler!(image::world)).limit(Limit::Data),
    Route::page("/image/site/{country}/{file}", handler!(image::days)).limit(Limit::Data),
    Route::page("/image/networks/{country}/{file}", handler!(image::networks)).limit(Limit::Data),
    Route::page("/image/country/{file}", handler!(image::score)).limit(Limit::Data),
    badge!("/badge/{country}/{file}", Language::English),
    badge!("/fr/badge/{country}/{file}", Language::French),
    badge!("/ar/badge/{country}/{file}", Language::Arabic),
    Route::page("/assets/{file}", handler!(style::sheet)),
    Route::page("/sitemap.xml", handler!(sitemap::sitemap)).limit(Limit::Data),
];
