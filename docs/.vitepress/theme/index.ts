/// <reference types="vitepress/client" />
import './contrast.css'

// This theme uses the fonts of the system. The default theme would load its own.
export { default } from 'vitepress/theme-without-fonts'
