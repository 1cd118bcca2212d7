// The package `eventsource`: live checks without a browser.

import { EventSource } from 'eventsource';

import { checks, listen } from './live.mjs';

const client = {
  // There are no pages and no origins.
  foreign: (run) => run('http://page.example'),
  session: async () => {
    const open = [];
    return {
      listen: async (url, kinds) => {
        const { notes, close } = listen(EventSource, url, kinds);
        open.push(close);
        return { notes: async () => notes };
      },
      close: async () => open.forEach((close) => close()),
    };
  },
};

export default checks(client);
