import { configure } from './ava.config.js';

export default configure({ long: true });
