//! `ag-ui`: what only this dialect promises.
