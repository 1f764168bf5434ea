import '@plinth/inbox-element'
import { createApp, h, ref } from 'vue'
import { getToken } from './get-token.js'

const { apiUrl } = document.documentElement.dataset

// A template needs `compilerOptions.isCustomElement: (tag) => tag === 'plinth-inbox'` in the settings of the bundler.
const App = {
  setup() {
    const route = ref('nothing')
    const onOpen = ({ detail }) => {
      route.value = detail.targetRoute ?? 'no page'
    }
    return () =>
      h('main', [
        h('h1', 'Vue'),
        h('plinth-inbox', { apiUrl, getToken, align: 'start', 'onPlinth-open': onOpen }),
        h('p', ['Opened: ', h('output', { id: 'route' }, route.value)]),
      ])
  },
}

createApp(App).mount('#app')
